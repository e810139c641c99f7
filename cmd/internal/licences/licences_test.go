package main

import (
	"slices"
	"strings"
	"testing"
)

// TestEverythingLinkedMayBePassedOn reads the licences of what the program needs.
func TestEverythingLinkedMayBePassedOn(t *testing.T) {
	mods, err := modules(own + "/cmd/firstseen")
	if err != nil {
		t.Fatal(err)
	}
	if len(mods) < 20 {
		t.Errorf("got %d modules; want all that are linked in", len(mods))
	}
	for _, m := range mods {
		if err := m.check(); err != nil {
			t.Error(err)
		}
		t.Logf("%s %s: %s", m.path, m.version, strings.Join(m.names(), " AND "))
	}
}

func TestRecognise(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms, with or without modification"
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Apache License\n   Version 2.0, January 2004", []string{"Apache-2.0"}},
		{bsd, []string{"BSD-2-Clause"}},
		{bsd + "\n * Neither the name of", []string{"BSD-3-Clause"}},
		{"Mozilla Public License Version 2.0\n … GNU General Public License, Version 2.0", []string{"MPL-2.0"}},
		{"Permission is hereby granted, free of charge,\nto any person obtaining a copy", []string{"MIT"}},
		{"GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007", []string{"GPL"}},
		{"All rights reserved.", nil},
	} {
		if got := recognise(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %v; want %v", c.text, got, c.want)
		}
	}
	for _, m := range []mod{{path: "none"}, {path: "gpl", files: []file{{"COPYING", "GNU General Public License Version 3"}}}} {
		if m.check() == nil {
			t.Errorf("%s: got no error; want it refused", m.path)
		}
	}
}
