package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// crawlFile makes a store in which three URLs wait, and a copy of it in a file.
func crawlFile(t *testing.T, dir string) (name string) {
	t.Helper()
	db, name := filepath.Join(dir, "from.db"), filepath.Join(dir, "crawl.fs")
	s, err := pebblestore.Open(db, pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frontier.New(s, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := f.Add(t.Context(), fmt.Sprintf("http://a.example/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	command(t, "copy", "--from-db", db, "--to-file", name)
	return name
}

// breakOff copies a file whose keys, at its end, are damaged, and then restores the file: the URLs are copied, the keys are not.
func breakOff(t *testing.T, file, db string) {
	t.Helper()
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoilt := bytes.Clone(sound)
	spoilt[len(spoilt)-1] ^= 1
	write(spoilt)
	if status, _, errOut := runCommand(t, "copy", "--from-file", file, "--to-db", db); status != statusFailed {
		t.Fatalf("got status %d, %s; want a failure", status, errOut)
	}
	write(sound)
}

// TestCopyAgain checks that a copy that broke off can be run again, and skips nothing that the target
// lacks: otherwise queued URLs would count as seen, and would never be fetched.
func TestCopyAgain(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(db string) error{
		"nothing happened": func(string) error { return nil },
		"target removed":   func(db string) error { return os.RemoveAll(db) },
		"target emptied":   func(db string) error { command(t, "forget", "--db", db, "--all"); return nil },
		"target lost one":  func(db string) error { command(t, "forget", "--db", db, "--url", "http://a.example/0"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, db := crawlFile(t, dir), filepath.Join(dir, "new.db")
			breakOff(t, file, db)
			if err := between(db); err != nil {
				t.Fatal(err)
			}
			got := strings.ToLower(command(t, "copy", "--from-file", file, "--to-db", db, "--json"))
			if !strings.Contains(got, `"waiting":3,`) {
				t.Errorf("got %s; want three URLs that wait", got)
			}
			if stats := command(t, "stats", "--db", db, "--json"); !strings.Contains(stats, `"held":3,`) {
				t.Errorf("got %s; want three URLs that wait", stats)
			}
		})
	}
}

// TestCopySettings: what is set for a crawl is copied, through a file too, and for what is set for all crawls the copy
// prints the commands that set it; run in the new store, nothing is missing.
func TestCopySettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, file := filepath.Join(dir, "from.db"), filepath.Join(dir, "crawl.fs")
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte("http://a.example/1\nhttp://a.example/2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"add", "--crawl", "a news", list},
		{"set", "--crawl", "a news", "--paused", "--delay", "1h", "--limit", "7", "--in-flight", "2", "--weight", "4", "--order", "depth", "--queue-limit", "3", "--retention", "30d"},
		{"set", "--crawl", "a news", "--queue", "a.example", "--delay", "1m", "--group", "g"},
		{"set", "--crawl", "other", "--create", "--delay", "3h"},
		{"set", "--all", "--delay", "0", "--blocked-until", "2100-01-01"},
		{"exclude", "--crawl", "a news", "b.example/it's", "*.pdf"},
		{"exclude", "--crawl", "other", "not.example"},
		{"exclude", "--all", "c.example"},
	} {
		command(t, slices.Insert(args, 1, "--db", from)...)
	}
	is := func(db string) (all string) { // a setting that is given as it is changes nothing, and is printed with all others
		for _, args := range [][]string{
			{"set", "--crawl", "a news", "--order", "depth"}, {"set", "--all", "--delay", "0"}, {"exclude", "--crawl", "a news"}, {"list", "--crawl", "a news"},
		} {
			all += command(t, append(args, "--db", db)...)
		}
		return all
	}
	want := is(from)
	if n := strings.Count(want, "nothing changed"); n != 2 {
		t.Fatalf("got\n%s\nwant everything set", want)
	}
	command(t, "copy", "--from-db", from, "--crawl", "a news", "--to-file", file)
	for name, source := range map[string]string{"store": "--from-db=" + from, "file": "--from-file=" + file} {
		db := filepath.Join(dir, name)
		var n struct {
			Left []string `json:"not_copied"`
		}
		for range 2 { // what is set again changes nothing
			if err := json.Unmarshal([]byte(command(t, "copy", source, "--crawl", "a news", "--to-db", db, "--json")), &n); err != nil {
				t.Fatal(err)
			}
		}
		for _, left := range n.Left {
			command(t, strings.Fields(left)[1:]...)
		}
		if got := is(db); got != want {
			t.Errorf("from a %s: got\n%s\nwant\n%s", name, got, want)
		}
		command(t, "set", "--db", db, "--crawl", "a news", "--paused=false", "--limit", "5000")
		again := command(t, "copy", source, "--crawl", "a news", "--to-db", db, "--json")
		if got := command(t, "list", "--db", db, "--crawl", "a news", "--json"); strings.Contains(got, `"paused":true`) || !strings.Contains(again, `"kept":["firstseen set --db `) {
			t.Errorf("from a %s, again: got %s%s; want the settings kept", name, again, got)
		}
	}
}

// endless is a store whose listing continues until its context ends.
type endless struct{ store.Store }

func (endless) Entries(ctx context.Context, _, _ string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		<-ctx.Done()
		yield(store.Entry{}, ctx.Err())
	}
}

// TestFailedCopyLeavesNothing: when the target fails, the reading side ends, and removes its
// temporary file before the copy returns.
func TestFailedCopyLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	src, dst := endless{memstore.New(memstore.Options{})}, memstore.New(memstore.Options{})
	for s, id := range map[store.Store]store.Identity{src: store.IdentityOf(canon.Qiita()), dst: {Profile: "other"}} {
		if err := s.Prepare(t.Context(), store.Terms{Identity: id}); err != nil {
			t.Fatal(err)
		}
	}
	from := frontier.StoredCrawl{Stored: store.DefaultCrawl, Identity: src.Identity()}
	if n, err := transfer.Pipe(t.Context(), storedCrawl(src, from).write, dst, store.DefaultCrawl, crawlfile.ImportOptions{}); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %+v, error %v; want %v", n, err, store.ErrIdentity)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v left; want nothing", left, err)
	}
}
