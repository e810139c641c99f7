package pebblestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestReplayIsBounded: a write buffer that has room for more bytes is flushed when it has many rows,
// which Open would replay one by one. Of keys alone, a row has thousands.
func TestReplayIsBounded(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	see(t, s, "", testKeys(0, replayRows))
	if s.rows > 1000 {
		t.Errorf("got %d rows of keys alone; want few", s.rows)
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
	before := s.rows
	if add(1000); s.rows < before+1000 {
		t.Errorf("got %d rows of 1,000 URLs; want as many", s.rows-before)
	}
	flushes := func() int64 { return s.db.Metrics().Flush.Count }
	had := flushes()
	s.rows += replayRows
	add(1)
	for begun := time.Now(); flushes() == had; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("got no flush of %d rows", replayRows)
		}
	}
	if s.rows > 1000 {
		t.Errorf("got %d rows after a flush; want few", s.rows)
	}
}
