package pebblestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/storetest"
)

// keyFile writes a key file of the keys with the numbers from lo to hi-1.
func keyFile(t *testing.T, id store.Identity, lo, hi int) string {
	t.Helper()
	var keys []store.Key
	for i := lo; i < hi; i++ {
		keys = append(keys, testKey(i))
	}
	slices.SortFunc(keys, store.Key.Compare)
	f, err := os.Create(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = crawlfile.WriteKeys(f, crawlfile.Header{Identity: id}, func(yield func(store.Key, error) bool) {
		for i := 0; i < len(keys) && yield(keys[i], nil); i++ {
		}
	})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestAlsoSeen has key files for all crawls and for one.
func TestAlsoSeen(t *testing.T) {
	ctx, id := context.Background(), store.Identity{Profile: "qiita", Version: 1}
	all, news := keyFile(t, id, 0, 100), keyFile(t, id, 100, 200)
	dir := t.TempDir()
	s := openFor(t, dir, id, Options{AlsoSeen: []AlsoSeen{{Path: all}, {Path: news, Crawl: "news"}}})
	var keys []store.Key
	var items []store.Item
	for i := range 300 {
		keys = append(keys, testKey(i))
		items = append(items, store.Item{Key: testKey(i), Queue: "q", URL: "http://example.org/", Force: i == 7})
	}
	fresh := make([]bool, len(keys))
	if err := s.See(ctx, "news", keys[:250], fresh[:250], store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, f := range fresh {
		if want := i >= 200 && i < 250; f != want {
			t.Errorf("See of key %d: got new %v; want %v", i, f, want)
		}
	}
	verdicts, err := s.Add(ctx, "other", items, store.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		want := store.Verdict{Status: store.New}
		if i < 100 && i != 7 {
			want = store.Verdict{Status: store.Duplicate, SeenIn: all}
		}
		if v != want {
			t.Errorf("Add of item %d: got %+v; want %+v", i, v, want)
		}
	}
	if st, err := s.Stats(ctx, "*"); err != nil || st.Seen != 50+201 || st.Held != 201 {
		t.Errorf("got %+v, %v; want 251 seen, 201 held", st, err)
	}
	if e, err := storetest.Lookup(ctx, s, "news", testKey(150)); err != nil || e.State != store.SeenOnly {
		t.Errorf("got %+v, %v; want a key that is seen", e, err)
	}
	if _, err := storetest.Lookup(ctx, s, "other", testKey(350)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.See(ctx, "news", keys, fresh, store.SeeOptions{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v; want ErrClosed", err)
	}
}

// TestAlsoSeenInParts: what a key file has is a duplicate in whatever part of a batch, also if a later part is as long as all that
// the file lacks.
func TestAlsoSeenInParts(t *testing.T) {
	const n = 4096
	id := store.Identity{Profile: "qiita", Version: 1}
	s := openFor(t, t.TempDir(), id, Options{AlsoSeen: []AlsoSeen{{Path: keyFile(t, id, 0, n)}}})
	defer s.Close()
	var items []store.Item
	for i := range n {
		for _, key := range []int{n + i, i} {
			items = append(items, store.Item{Key: testKey(key), Queue: "q", URL: "http://example.org/"})
		}
	}
	verdicts, err := s.Add(t.Context(), "", items, store.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if want := []store.Status{store.New, store.Duplicate}[i%2]; v.Status != want {
			t.Fatalf("item %d: got %v; want %v", i, v.Status, want)
		}
	}
	wantSound(t, s)
}

// TestAlsoSeenRefused opens with key files that cannot be used.
func TestAlsoSeenRefused(t *testing.T) {
	id := store.Identity{Profile: "qiita", Version: 1}
	other := keyFile(t, store.Identity{Profile: "whatwg", Version: 1}, 0, 10)
	dir := t.TempDir()
	if _, err := Open(dir, Options{AlsoSeen: []AlsoSeen{{Path: filepath.Join(dir, "none")}}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v; want ErrNotExist", err)
	}
	if err := openFor(t, dir, id, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{AlsoSeen: []AlsoSeen{{Path: other}}}); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want ErrIdentity", err)
	}
	s, err := Open(t.TempDir(), Options{AlsoSeen: []AlsoSeen{{Path: other}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(context.Background(), store.Terms{Identity: id}); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want ErrIdentity", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
