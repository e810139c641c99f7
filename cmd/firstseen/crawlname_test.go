package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// samePages are two pages under the default profile, three by WHATWG's.
var samePages = []string{"http://a.example/x//y", "http://a.example/x/y", "http://a.example/?b=1&a=2"}

// namedCrawls makes a store with a crawl by the store's profile, one by its own, an exact
// one, and what serve keeps of itself.
func namedCrawls(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "crawl.db")
	over(t, db, func(f *frontier.Frontier) {
		paused := true
		if err := errors.Join(f.SetCrawlProfile(t.Context(), "news", canon.WHATWG()), f.SetCrawlProfile(t.Context(), "raw", canon.None()), f.Configure(t.Context(), ".serve", "active", store.QueueChange{Paused: &paused})); err != nil {
			t.Fatal(err)
		}
		for crawl, want := range map[string]int{"": 2, "news": 3, "raw": 3} {
			n := 0
			for _, page := range samePages {
				r, err := f.AddBatch(t.Context(), []frontier.Link{{URL: page, Crawl: crawl}})
				if err != nil {
					t.Fatal(err)
				}
				if r[0].Status == frontier.StatusNew {
					n++
				}
			}
			if n != want {
				t.Fatalf("crawl %q: got %d new pages; want %d", crawl, n, want)
			}
		}
	})
	return db
}

// over opens a frontier over a store on disk, made if need be.
func over(t *testing.T, db string, do func(f *frontier.Frontier)) {
	t.Helper()
	s, err := pebblestore.Open(db, pebblestore.Options{KeepURLs: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frontier.New(s, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	do(f)
	if err := errors.Join(f.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// known counts the pages that a crawl has seen.
func known(t *testing.T, db, crawl string) (n int) {
	t.Helper()
	over(t, db, func(f *frontier.Frontier) {
		for _, page := range samePages {
			if _, err := f.Lookup(t.Context(), frontier.Link{URL: page, Crawl: crawl}); err == nil {
				n++
			}
		}
	})
	return n
}

func TestCrawlsAreFoundByTheirNames(t *testing.T) {
	db := namedCrawls(t)
	for crawl, want := range map[string][2]string{
		"DEFAULT": {`"seen":2,`, `"profile":"qiita"`}, "news": {`"seen":3,`, `"profile":"whatwg"`},
		"raw": {`"seen":3,`, `"profile":"none"`}, "raw|exact": {`"crawl":"raw",`, `"seen":3,`}, "*": {`"seen":8,`, `"profile":"qiita"`},
	} {
		got := command(t, "stats", "--db", db, "--crawl", crawl, "--json")
		for _, part := range append(want[:], `"crawls":["DEFAULT","news","raw"]`) {
			if !strings.Contains(got, part) {
				t.Errorf("stats of %q: got %s; want %s", crawl, got, part)
			}
		}
	}
	for _, crawl := range []string{"news", "raw"} {
		if got := command(t, "export", "--db", db, "--crawl", crawl, "--urls"); strings.Count(got, "\n") != 3 {
			t.Errorf("export of %q: got %q; want three URLs", crawl, got)
		}
	}
	for crawl, url := range map[string]string{"news": samePages[0], "raw": samePages[2]} {
		if got := command(t, "forget", "--db", db, "--crawl", crawl, "--url", url); got != "1 forgotten\n" {
			t.Errorf("forget in %q: got %q; want 1", crawl, got)
		}
	}
	if got := command(t, "forget", "--db", db, "--crawl", "*", "--url", samePages[1]); got != "3 forgotten\n" {
		t.Errorf("forget in all crawls: got %q; want it in each", got)
	}
	if got := command(t, "forget", "--db", db, "--crawl", "*", "--all"); got != "3 forgotten\n" {
		t.Errorf("forget all: got %q; want what is left", got)
	}
	if s, err := pebblestore.Open(db, pebblestore.Options{}); err != nil {
		t.Error(err)
	} else if names, err := s.Crawls(t.Context()); err != nil || len(names) != 1 || names[0] != ".serve" || s.Close() != nil {
		t.Errorf("got crawls %q, %v; want what serve keeps of itself alone", names, err)
	}
}

func TestUnknownCrawlsAreRefused(t *testing.T) {
	db, good := namedCrawls(t), filepath.Join(t.TempDir(), "good")
	if err := os.WriteFile(good, []byte("a good backup"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"stats", "--db", db, "--crawl", "nwes"},
		{"export", "--db", db, "--crawl", "nwes", "--output", good},
		{"export", "--db", db, "--crawl", "nwes", "--urls", "--output", good},
		{"copy", "--from-db", db, "--crawl", "nwes", "--to-file", good},
		{"forget", "--db", db, "--crawl", "nwes", "--all"},
		{"forget", "--db", db, "--crawl", "nwes", "--url", samePages[0]},
	} {
		status, _, errOut := runCommand(t, args...)
		if status != statusMisuse || !strings.Contains(errOut, `cannot find crawl "nwes" in the store, which has "DEFAULT", "news", "raw"`) {
			t.Errorf("%q: got status %d, %s; want misuse, and the names there are", args, status, errOut)
		}
	}
	// What there is nothing of replaces nothing.
	command(t, "forget", "--db", db, "--crawl", "news", "--url", samePages[0], "--url", samePages[1], "--url", samePages[2])
	for _, args := range [][]string{
		{"export", "--db", db, "--crawl", "news", "--output", good},
		{"export", "--db", db, "--crawl", "raw", "--urls", "--completed", "--output", good},
		{"copy", "--from-db", db, "--crawl", "news", "--to-file", good},
	} {
		if status, _, errOut := runCommand(t, args...); status != statusFailed || !strings.Contains(errOut, "was not overwritten") {
			t.Errorf("%q: got status %d, %s; want the file left as it was", args, status, errOut)
		}
	}
	if text, err := os.ReadFile(good); err != nil || string(text) != "a good backup" {
		t.Errorf("got %q, %v; want the file as it was", text, err)
	}
	if status, out, errOut := runCommand(t, "stats", "--db", emptyStore(t)); status != 0 || !strings.Contains(out, "0  seen") {
		t.Errorf("stats of an empty store: got status %d, %s%s; want zeros", status, out, errOut)
	}
}

func emptyStore(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "empty.db")
	over(t, db, func(*frontier.Frontier) {})
	return db
}

// TestCrawlsMoveWithTheirProfiles copies crawls that make keys of their own, to stores and by
// files, and asks the copy for their pages.
func TestCrawlsMoveWithTheirProfiles(t *testing.T) {
	t.Parallel()
	db, dir := namedCrawls(t), t.TempDir()
	for crawl, stored := range map[string]string{"news": frontierName(t, db, "news"), "raw": "raw|exact"} {
		direct, byFile, byKeys := filepath.Join(dir, crawl+".direct"), filepath.Join(dir, crawl+".file"), filepath.Join(dir, crawl+".keys")
		command(t, "copy", "--from-db", db, "--to-db", direct, "--crawl", crawl, "--to-crawl", "moved")
		if n := known(t, direct, "moved"); n != 3 {
			t.Errorf("crawl %q copied: got %d known pages; want 3", crawl, n)
		}
		file, keys := byFile+".fs", byKeys+".fs"
		command(t, "copy", "--from-db", db, "--to-file", file, "--crawl", crawl)
		over(t, byFile, func(*frontier.Frontier) {})
		status, _, errOut := runCommand(t, "copy", "--from-file", file, "--to-db", byFile)
		if status != statusFailed || !strings.Contains(errOut, "name it ") {
			t.Errorf("crawl %q into one of another profile: got status %d, %s; want what to do", crawl, status, errOut)
		}
		command(t, "copy", "--from-file", file, "--to-db", byFile, "--to-crawl", stored)
		if n := known(t, byFile, crawl); n != 3 {
			t.Errorf("crawl %q by a file: got %d known pages; want 3", crawl, n)
		}
		command(t, "copy", "--from-file", file, "--to-db", byFile, "--to-crawl", crawl) // it is there now
		command(t, "export", "--db", db, "--crawl", crawl, "--output", keys)
		if status, _, errOut := runCommand(t, "import", "--db", byKeys, keys); status != statusFailed || !strings.Contains(errOut, stored[len(crawl):]) {
			t.Errorf("keys of crawl %q into one of another profile: got status %d, %s; want a failure", crawl, status, errOut)
		}
		command(t, "import", "--db", byKeys, "--crawl", stored, keys)
		command(t, "import", "--db", byKeys, "--crawl", crawl, keys)
		if n := known(t, byKeys, crawl); n != 3 {
			t.Errorf("keys of crawl %q: got %d known pages; want 3", crawl, n)
		}
	}
}

// frontierName is the store's name of a crawl.
func frontierName(t *testing.T, db, crawl string) string {
	t.Helper()
	s, err := pebblestore.Open(db, pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := frontier.FindCrawl(t.Context(), s, crawl)
	if err != nil {
		t.Fatal(err)
	}
	return c.Stored
}
