package pebblestore

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// TestReplayIsBounded: a write buffer that has room for more bytes is flushed when it has many rows,
// which Open would replay one by one. Of keys alone, a row has thousands.
func TestReplayIsBounded(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	const keys = 100_000
	see(t, s, "", testKeys(0, keys))
	if s.unflushed > 20*keys {
		t.Errorf("got %d bytes of keys alone; want about 16 for each", s.unflushed)
	}
	add := func(n int) {
		items := make([]store.Item, 0, n)
		for _, k := range testKeys(0, n) {
			items = append(items, store.Item{Key: k, Queue: "q", URL: "https://example.com/"})
		}
		if _, err := s.Add(t.Context(), fmt.Sprint("of ", n), items, store.AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.unflushed
	if add(1000); s.unflushed < before+1000*rowCost {
		t.Errorf("got %d bytes of 1,000 URLs; want the cost of a row for each", s.unflushed-before)
	}
	flushes := func() int64 { return s.db.Metrics().Flush.Count }
	had := flushes()
	s.unflushed += s.opt.memTableBytes
	add(1)
	hang.Until(t, "a full write buffer is flushed", func() bool { return flushes() > had })
	if s.unflushed > 10_000 {
		t.Errorf("got %d bytes after a flush; want those of one URL", s.unflushed)
	}
}
