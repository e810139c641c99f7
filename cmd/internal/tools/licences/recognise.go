package main

import (
	"fmt"
	"slices"
	"strings"
)

// phrases identify licences by words that no other licence contains, in lower case and with single
// blanks.
var phrases = []struct{ name, phrase string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "permission to use, copy, modify, and distribute this software"},
	{"LGPL", "gnu lesser general public license version"},
	{"AGPL", "gnu affero general public license version"},
	{"GPL", "gnu general public license version"},
}

// allowed are the licences under which a part of an Apache-2.0 work may be given
// on: the permissive ones, and MPL-2.0, which binds its own files alone.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// recognise returns the names of the licences in a text.
func recognise(text string) (names []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, p := range phrases {
		if strings.Contains(text, p.phrase) && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	if strings.Contains(text, "redistribution and use in source and binary forms") {
		if strings.Contains(text, "neither the name") || strings.Contains(text, "may not be used to endorse") {
			names = append(names, "BSD-3-Clause")
		} else {
			names = append(names, "BSD-2-Clause")
		}
	}
	return names
}

// names are the licences of a module.
func (m *mod) names() (names []string) {
	for _, f := range m.files {
		names = append(names, recognise(f.text)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// check refuses a module without a licence, or with one that isn't allowed.
func (m *mod) check() error {
	names := m.names()
	if len(names) == 0 {
		return fmt.Errorf("cannot pass on %s %s; got no licence that is known; want one of %s", m.path, m.version, strings.Join(allowed, ", "))
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("cannot pass on %s %s; got %s; want one of %s", m.path, m.version, name, strings.Join(allowed, ", "))
		}
	}
	return nil
}
