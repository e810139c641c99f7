package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
)

var testIdentity = store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash", Unicode: "15.0.0"}

// testKey returns a key made of n, spread as real keys are.
func testKey(n int) store.Key {
	return hashkey.SumShort(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func testKeys(lo, hi int) []store.Key {
	keys := make([]store.Key, 0, hi-lo)
	for n := lo; n < hi; n++ {
		keys = append(keys, testKey(n))
	}
	return keys
}

// openPrepared opens a store for keys of the identity that it has, or of that of the tests.
func openPrepared(dir string, opt Options) (*Store, error) {
	s, err := Open(dir, opt)
	if err != nil || opt.Mode == OpenReadOnly || s.Identity() != (store.Identity{}) {
		return s, err
	}
	if err := s.Prepare(context.Background(), store.Terms{Identity: testIdentity}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func mustOpen(t testing.TB, dir string, opt Options) *Store {
	t.Helper()
	s, err := openPrepared(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openFor opens a store for keys of an identity.
func openFor(t testing.TB, dir string, id store.Identity, opt Options) *Store {
	t.Helper()
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(context.Background(), store.Terms{Identity: id}); err != nil {
		t.Fatal(err)
	}
	return s
}

// see records keys and returns how many were new.
func see(t testing.TB, s *Store, crawl string, keys []store.Key) int {
	t.Helper()
	fresh := make([]bool, len(keys))
	if err := s.See(context.Background(), crawl, keys, fresh, store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range fresh {
		if f {
			n++
		}
	}
	return n
}

func TestOpenRefuses(t *testing.T) {
	unicode := testIdentity
	unicode.Unicode = "17.0.0"
	for _, tt := range []struct {
		name string
		prep func(t *testing.T, s *Store)
		id   store.Identity
		want error
	}{
		{name: "unicode, such a host", id: unicode, want: store.ErrIdentity, prep: func(t *testing.T, s *Store) {
			err := s.See(context.Background(), "", testKeys(0, 1), make([]bool, 1), store.SeeOptions{UnicodeHosts: true})
			if err != nil {
				t.Fatal(err)
			}
		}},
		{name: "newer format", want: store.ErrFormat, prep: func(t *testing.T, s *Store) {
			if err := s.db.Set(metaKey(metaFormat), []byte{0, 0, 0, formatVersion + 1}, pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "older format", want: store.ErrFormat, prep: func(t *testing.T, s *Store) {
			if err := s.db.Set(metaKey(metaFormat), []byte{0, 0, 0, formatVersion - 1}, pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := openFor(t, "db", testIdentity, Options{FS: fs})
			tt.prep(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := Open("db", Options{FS: fs})
			if err == nil {
				defer s.Close()
				err = s.Prepare(t.Context(), store.Terms{Identity: tt.id})
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v; want %v", err, tt.want)
			}
		})
	}
}

// TestForeignPebbleFormat: a database that a newer Pebble ratcheted up, or that is
// older than this one reads, is of another format, not corrupt.
func TestForeignPebbleFormat(t *testing.T) {
	for _, marker := range []string{"marker.format-version.900000.999", "marker.format-version.900000.001"} {
		fs := vfs.NewMem()
		if err := mustOpen(t, "db", Options{FS: fs}).Close(); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create("db/"+marker, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		wantOpenError(t, "db", Options{FS: fs}, store.ErrFormat)
	}
}

func TestMustExist(t *testing.T) {
	for _, mode := range []Mode{OpenExisting, OpenReadOnly, OpenRepair} {
		opt := Options{FS: vfs.NewMem(), Mode: mode}
		if _, err := Open("none", opt); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %v; want ErrNotFound", err)
		}
		if _, err := opt.FS.Stat("none"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v; want that the open made no directory", err)
		}
		if err := opt.FS.MkdirAll("empty", 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Open("empty", opt); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %v; want ErrNotFound of an empty directory", err)
		}
	}
}

func TestForeignDatabase(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open("db", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("a"), nil, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("db", Options{FS: fs}); !errors.Is(err, store.ErrFormat) {
		t.Fatalf("got %v; want ErrFormat", err)
	}
}

// TestKeysOfFilesThatGo checks that a list of keys reads its run files to their end, although the crawl is
// forgotten and the store has no use for them.
func TestKeysOfFilesThatGo(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	defer s.Close()
	see(t, s, "", testKeys(0, 100_000))
	flushRuns(t, s)
	n := 0
	for _, err := range s.Keys(t.Context(), "") {
		if err != nil {
			t.Fatalf("after %d keys: %v", n, err)
		}
		if n++; n == 1 {
			forget(t, s, store.Selection{})
			s.keeper.releasing.Wait()
		}
	}
	if n != 100_000 {
		t.Errorf("got %d keys; want those of the time when the list began", n)
	}
	if files := runFiles(t, s); len(files) > 0 {
		t.Errorf("got the files %v after the list; want none", files)
	}
}

// TestKeysOfAFlush checks that a list has the keys of a flush that has not ended.
func TestKeysOfAFlush(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	see(t, s, "", testKeys(0, 100))
	if err := s.do(t.Context(), 1, func(tx *txn) error { tx.flush(); tx.freeze(); return nil }); err != nil {
		t.Fatal(err)
	}
	see(t, s, "", testKeys(100, 150))
	forget(t, s, store.Selection{Keys: testKeys(90, 110)})
	n := 0
	for _, err := range s.Keys(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 130 {
		t.Errorf("got %d keys; want 130", n)
	}
}

func wantOpenError(t testing.TB, dir string, opt Options, want error) {
	t.Helper()
	s, err := Open(dir, opt)
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		t.Fatalf("got %v; want %v", err, want)
	}
}

// TestNewStoreIsLocked: the directory of a store is locked from its first day, so that a reader is refused, too.
func TestNewStoreIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "db")
	s := mustOpen(t, dir, Options{})
	defer s.Close()
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{OpenOrCreate, OpenExisting, OpenReadOnly, OpenRepair} {
		if again, err := Open(dir, Options{Mode: mode}); !errors.Is(err, store.ErrLocked) {
			t.Errorf("mode %v: got %v, %v; want ErrLocked", mode, again, err)
		}
	}
}
