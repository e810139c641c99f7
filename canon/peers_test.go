package canon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPeers holds the rows of testdata/peers, whose README says where they are from and names the
// classes of differences.
func TestPeers(t *testing.T) {
	readme, err := os.ReadFile("testdata/peers/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, classes, _ := strings.Cut(string(readme), "| class |")
	files, err := filepath.Glob("testdata/peers/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v; want some", len(files), err)
	}
	count := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var row struct{ Input, Want, Profile, Rules, Class, Form string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			p, err := ParseProfile(row.Profile)
			if err == nil && row.Rules != "" {
				p, err = p.WithRules(row.Rules)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, _ := p.Canonicalize(row.Input) // empty if it is refused
			key, _ := p.Canonicalize(row.Want)
			switch {
			case row.Class == "" && got == row.Want:
				count["same form"]++
			case row.Class == "" && got == key:
				count["same key"]++
			case row.Class != "" && got == row.Form && (got == "" || got != key) && strings.Contains(classes, "`"+row.Class+"`"):
				count[row.Class]++
			default:
				t.Errorf("%s: %s of %q: got %q; want %q, or a class for it: %s %q", filepath.Base(file), p, row.Input, got, row.Want, row.Class, row.Form)
			}
		}
	}
	t.Logf("rows: %v", count)
}
