package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVariablesDontNameWhatAMeasureWritesTo: a variable that is set for the daemon makes
// no measurement read or write its store, and no command replace a file.
func TestVariablesDontNameWhatAMeasureWritesTo(t *testing.T) {
	db, dir := namedCrawls(t), t.TempDir()
	log, good := filepath.Join("testdata", "crawl.cdx.gz"), filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := command(t, "stats", "--db", db, "--crawl", "*", "--json")
	for _, flag := range []string{"OUTPUT", "REPORT", "CSV", "TO_FILE"} {
		t.Setenv("FIRSTSEEN_"+flag, good)
	}
	t.Setenv("FIRSTSEEN_DB", db)
	for _, args := range [][]string{
		{"replay", log}, {"replay", "--by-rule", "--json", log}, {"audit", log}, {"learn", "--output", filepath.Join(dir, "rules.json"), log},
		{"export"},
	} {
		command(t, args...)
	}
	if status, _, _ := runCommand(t, "copy", "--from-db", db); status != statusMisuse {
		t.Errorf("copy without a target: got status %d; want misuse", status)
	}
	t.Setenv("FIRSTSEEN_DB", "")
	if after := command(t, "stats", "--db", db, "--crawl", "*", "--json"); after != before {
		t.Errorf("got %s; want the store as it was, %s", after, before)
	}
	if text, err := os.ReadFile(good); err != nil || string(text) != "good" {
		t.Errorf("got %q, %v; want the file as it was", text, err)
	}
}

// TestATypedPlaceWins: a store that is named on the command line is meant, whatever store a variable names.
func TestATypedPlaceWins(t *testing.T) {
	db := namedCrawls(t)
	want := command(t, "stats", "--db", db, "--json")
	for _, name := range []string{"FIRSTSEEN_DAEMON", "FIRSTSEEN_REDIS"} {
		t.Setenv(name, "127.0.0.1:1")
		if got := command(t, "stats", "--db", db, "--json"); got != want {
			t.Errorf("with %s: got %s; want %s", name, got, want)
		}
	}
	command(t, "copy", "--from-db", db, "--to-file", filepath.Join(t.TempDir(), "crawl"))
	if status, _, _ := runCommand(t, "stats"); status != statusMisuse {
		t.Errorf("got status %d; want misuse where two variables name two stores", status)
	}
}

// TestReplayKeepsToTheKeysOfACrawl: the keys of a crawl are made by one profile.
func TestReplayKeepsToTheKeysOfACrawl(t *testing.T) {
	db, list := namedCrawls(t), filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(strings.Join(samePages, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, "replay", "--db", db, "--json", list); !strings.Contains(got, `"new":0,`) {
		t.Errorf("got %s; want nothing new", got)
	}
	if status, _, errOut := runCommand(t, "replay", "--db", db, "--crawl", "news", list); status != statusFailed || !strings.Contains(errOut, "whatwg") {
		t.Errorf("got status %d, %s; want another profile refused", status, errOut)
	}
}
