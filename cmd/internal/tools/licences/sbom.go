package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bill is a bill of materials in the form of CycloneDX 1.6, as far as it is written
// here. It has neither a time nor a serial number: the same sources have the same bill.
type bill struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Scope    string    `json:"scope,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licences []licence `json:"licenses"`
	PURL     string    `json:"purl"`
}

// hash is the one of go.sum, SHA-256 over the module's files.
type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// writeSBOM writes the bill of materials of modules.
func writeSBOM(w io.Writer, mods []mod, version string) error {
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Components: []component{}, Dependencies: []dependency{}}
	refs := make(map[string]string)
	var dir string
	for i := range mods {
		if mods[i].path == own {
			mods[i].version, dir = version, mods[i].dir
		}
		refs[mods[i].path] = "pkg:golang/" + mods[i].path + "@" + mods[i].version
	}
	sums, err := readSums(filepath.Join(dir, "go.sum"))
	if err != nil {
		return err
	}
	for i := range mods {
		c, err := componentOf(&mods[i], refs[mods[i].path], sums)
		if err != nil {
			return err
		}
		if mods[i].path == own {
			c.Type, c.Scope = "application", ""
			b.Metadata.Component = c
		} else {
			b.Components = append(b.Components, c)
		}
		d := dependency{Ref: c.Ref, DependsOn: []string{}}
		for _, on := range slices.Sorted(maps.Keys(mods[i].needs)) {
			d.DependsOn = append(d.DependsOn, refs[on])
		}
		b.Dependencies = append(b.Dependencies, d)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

func componentOf(m *mod, ref string, sums map[string]string) (component, error) {
	c := component{Type: "library", Ref: ref, Name: m.path, Version: m.version, Scope: "required", PURL: ref}
	for _, name := range m.names() {
		var l licence
		l.License.ID = name
		c.Licences = append(c.Licences, l)
	}
	if sum := sums[m.path+" "+m.version]; sum != "" {
		digest, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return c, fmt.Errorf("cannot read go.sum; got %q for %s: %w", sum, m.path, err)
		}
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(digest)}}
	}
	return c, nil
}

// readSums reads go.sum: the hash of each module's files by path and version.
func readSums(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read hashes: %w", err)
	}
	sums := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		field := strings.Fields(line)
		if len(field) == 3 && strings.HasPrefix(field[2], "h1:") {
			sums[field[0]+" "+field[1]] = strings.TrimPrefix(field[2], "h1:")
		}
	}
	return sums, nil
}
