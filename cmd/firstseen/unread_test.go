package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJudgesGoOnAfterAFileThatIsCutShort: a truncated file loses only its missing records.
func TestJudgesGoOnAfterAFileThatIsCutShort(t *testing.T) {
	dir := t.TempDir()
	whole, cut, missing, rules := filepath.Join(dir, "whole.cdx.gz"), filepath.Join(dir, "cut.cdx.gz"), filepath.Join(dir, "missing"), filepath.Join(dir, "rules.json")
	log, err := os.ReadFile(filepath.Join("testdata", "crawl.cdx.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{whole: log, cut: log[:len(log)/2]} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, judge := range [][]string{{"audit", "--json"}, {"learn", "--json", "--output", rules}} {
		status, out, errOut := runCommand(t, append(judge, cut, missing, whole)...)
		var got struct {
			Unread []struct {
				File    string
				Records int
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %v in %s, %s", judge[0], err, out, errOut)
		}
		if status != statusFailed || len(got.Unread) != 2 || got.Unread[0].File != cut || got.Unread[0].Records < 100 || got.Unread[1].Records != 0 {
			t.Errorf("%s: got status %d, %+v; want both files reported, and what was read of the first", judge[0], status, got.Unread)
		}
		if !strings.Contains(errOut, "cut.cdx.gz to its end: unexpected EOF") || !strings.Contains(errOut, "missing") {
			t.Errorf("%s: got %s; want both files named", judge[0], errOut)
		}
		if status, _, _ := runCommand(t, judge[0], missing); status != statusFailed {
			t.Errorf("%s of nothing: got status %d; want a failure", judge[0], status)
		}
	}
	if _, err := os.Stat(rules); err != nil {
		t.Error(err)
	}
}
