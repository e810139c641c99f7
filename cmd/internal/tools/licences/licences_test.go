package main

import (
	"bytes"
	"encoding/json"
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
	checkSBOM(t, mods)
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

// checkSBOM checks that a bill of materials has every module, and that each dependency in it is a
// module in it.
func checkSBOM(t *testing.T, mods []mod) {
	t.Helper()
	var out bytes.Buffer
	if err := writeSBOM(&out, mods, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{b.Metadata.Component.Ref: true}
	for _, c := range b.Components {
		refs[c.Ref] = true
		if c.Version == "" || len(c.Licences) == 0 || c.Name != std && len(c.Hashes) != 1 {
			t.Errorf("got %+v; want a version, a licence and the hash of go.sum", c)
		}
	}
	if len(refs) != len(mods) || b.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("got %d modules, version %s; want %d, v1.2.3", len(refs), b.Metadata.Component.Version, len(mods))
	}
	edges := 0
	for _, d := range b.Dependencies {
		for _, on := range d.DependsOn {
			if edges++; !refs[on] || !refs[d.Ref] {
				t.Errorf("%s depends on %s; want both among the components", d.Ref, on)
			}
		}
	}
	if edges < len(mods) {
		t.Errorf("got %d dependencies of %d modules; want at least one each", edges, len(mods))
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
