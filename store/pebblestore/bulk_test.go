package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
)

func sortedKeys(lo, hi int) []store.Key {
	keys := testKeys(lo, hi)
	slices.SortFunc(keys, store.Key.Compare)
	return keys
}

func sequence(keys []store.Key) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for _, k := range keys {
			if !yield(k, nil) {
				return
			}
		}
	}
}

func importKeysInto(t testing.TB, s *Store, crawl string, keys []store.Key) int64 {
	t.Helper()
	read, fresh, err := s.ImportSorted(context.Background(), crawl, sequence(keys), store.SeeOptions{})
	if err != nil || read != int64(len(keys)) {
		t.Fatalf("got %d read, %v; want %d", read, err, len(keys))
	}
	return fresh
}

// TestImportSorted imports beside and into existing keys, in more than one step, and reopens.
func TestImportSorted(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 1000))
	if n := importKeysInto(t, s, "", sortedKeys(500, 120_000)); n != 119_000 {
		t.Fatalf("got %d new; want 119000", n)
	}
	if n := see(t, s, "", testKeys(110_000, 130_000)); n != 10_000 {
		t.Fatalf("got %d new; want 10000", n)
	}
	if n := importKeysInto(t, s, "other", sortedKeys(0, 10)); n != 10 {
		t.Fatalf("got %d new; want 10", n)
	}
	if n := importKeysInto(t, s, "", nil); n != 0 {
		t.Fatalf("got %d new; want none", n)
	}
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantSeen(t, s, "", 130_000)
	wantSeen(t, s, "other", 10)
	if n := see(t, s, "", testKeys(0, 131_000)); n != 1000 {
		t.Fatalf("got %d new; want 1000", n)
	}
	wantSound(t, s)
}

func TestImportWantsOrder(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	keys := sortedKeys(0, 3)
	keys[1], keys[2] = keys[2], keys[1]
	if _, _, err := s.ImportSorted(context.Background(), "", sequence(keys), store.SeeOptions{}); !errors.Is(err, store.ErrInvalid) {
		t.Fatalf("got %v; want ErrInvalid", err)
	}
}

func TestExportImport(t *testing.T) {
	a := openFor(t, "db", testIdentity, Options{FS: vfs.NewMem(), tuning: tuning{generation: 1}})
	defer a.Close()
	see(t, a, "x", testKeys(0, 9000)) // each call in a generation of its own
	see(t, a, "x", testKeys(9000, 20_000))
	var file bytes.Buffer
	if n, err := a.Export(context.Background(), &file, "x"); err != nil || n != 20_000 {
		t.Fatalf("got %d, %v; want 20000", n, err)
	}
	b := openFor(t, "db", testIdentity, Options{FS: vfs.NewMem()})
	defer b.Close()
	see(t, b, "y", testKeys(0, 10))
	read, fresh, err := b.Import(context.Background(), bytes.NewReader(file.Bytes()), "y")
	if err != nil || read != 20_000 || fresh != 19_990 {
		t.Fatalf("got %d, %d, %v; want 20000, 19990", read, fresh, err)
	}
	wantSound(t, b)
	other := testIdentity
	other.Profile = "whatwg"
	c := openFor(t, "db", other, Options{FS: vfs.NewMem()})
	defer c.Close()
	if _, _, err := c.Import(context.Background(), bytes.NewReader(file.Bytes()), ""); !errors.Is(err, store.ErrIdentity) {
		t.Fatalf("got %v; want ErrIdentity", err)
	}
}

// TestExportOfMany exports more keys than are read at a time, of several generations.
func TestExportOfMany(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	const n = 160_007
	see(t, s, "", testKeys(0, n/2))
	importKeysInto(t, s, "", sortedKeys(n/2, n))
	var file bytes.Buffer
	if got, err := s.Export(context.Background(), &file, ""); err != nil || got != n {
		t.Fatalf("got %d, %v; want %d keys", got, err, n)
	}
	r, err := keyfile.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	want := sortedKeys(0, n)
	for k, err := range r.Keys() {
		if err != nil || len(want) == 0 || k != want[0] {
			t.Fatalf("got %x, %v; want the keys in order", k, err)
		}
		want = want[1:]
	}
	if len(want) != 0 {
		t.Errorf("%d keys are missing", len(want))
	}
	broken := errors.New("no room")
	if _, err := s.Export(context.Background(), &failingWriter{broken}, ""); !errors.Is(err, broken) {
		t.Errorf("got %v; want what the writer said", err)
	}
}

type failingWriter struct{ err error }

func (w *failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestImportIntoOneCrawl: an import refuses a name that no crawl may have.
func TestImportIntoOneCrawl(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	for _, name := range []string{"*", strings.Repeat("c", 256)} {
		_, _, err := s.ImportSorted(context.Background(), name, sequence(testKeys(0, 1)), store.SeeOptions{})
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("got %v of crawl %q; want %v", err, name, store.ErrInvalid)
		}
	}
	if names, err := s.Crawls(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("got crawls %q, %v; want none", names, err)
	}
}
