package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

func sortedKeys(lo, hi int) []store.Key {
	keys := testKeys(lo, hi)
	slices.SortFunc(keys, store.Key.Compare)
	return keys
}

// TestExportOfMany exports more keys than are read at a time, of several generations.
func TestExportOfMany(t *testing.T) {
	s := openFor(t, "db", testIdentity, Options{FS: vfs.NewMem(), tuning: tuning{generation: 1}}) // each call in a generation of its own
	defer s.Close()
	const n = 160_007
	see(t, s, "", testKeys(0, n/2))
	see(t, s, "", testKeys(n/2, n))
	var file bytes.Buffer
	if got, err := s.Export(context.Background(), &file, ""); err != nil || got != n {
		t.Fatalf("got %d, %v; want %d keys", got, err, n)
	}
	r, err := crawlfile.NewKeyReader(&file)
	if err != nil || r.Header() != (crawlfile.Header{Identity: testIdentity}) {
		t.Fatalf("got a file of %+v, %v; want the identity of the store", r.Header(), err)
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
