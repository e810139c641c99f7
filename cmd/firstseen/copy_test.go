package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
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
	to := frontier.StoredCrawl{Stored: store.DefaultCrawl, Identity: dst.Identity()}
	if n, err := transfer.Pipe(t.Context(), storedCrawl(src, from).write, dst, to); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %+v, error %v; want %v", n, err, store.ErrIdentity)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v left; want nothing", left, err)
	}
}
