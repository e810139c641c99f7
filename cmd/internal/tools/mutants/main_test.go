package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const top = "../../../../" // of the module

// TestFaultsFit holds the edits against the code of today: an edit whose text is gone must be written anew, with
// the change that took it away.
func TestFaultsFit(t *testing.T) {
	names, err := filepath.Glob("faults/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	titles := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := parseFaults(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range faults {
			code, err := os.ReadFile(top + f.file)
			if err != nil {
				t.Errorf("%s: %q: %v", name, f.title, err)
				continue
			}
			if n := strings.Count(string(code), f.before); n != 1 {
				t.Errorf("%s: %q: the text to replace is %d times in %s:\n%s", name, f.title, n, f.file, f.before)
			}
			if titles[f.title] {
				t.Errorf("%s: two faults are called %q", name, f.title)
			}
			titles[f.title] = true
		}
	}
}

func TestParseFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a comment\n\n## a: b\nfile f.go\ntest ./f -run X\n- \tone\n-\n+ two\n", ""},
		{"## a: b\nfile f.go\ntest ./f\n", "needs file, test, and text"},
		{"## a: b\nfile f.go\nnext\n", `line 3: want "## TITLE"`},
	} {
		faults, err := parseFaults(c.text)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want %q", c.text, err, c.want)
			}
			continue
		}
		if err != nil || len(faults) != 1 {
			t.Fatalf("%q: %v, %v", c.text, faults, err)
		}
		if f := faults[0]; f.before != "\tone\n\n" || f.after != "two\n" || len(f.test) != 3 {
			t.Errorf("%q: got %+v", c.text, f)
		}
	}
}
