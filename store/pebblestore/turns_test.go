package pebblestore

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestLargeCallsLeaveRoom: while six callers add 16,384 URLs at a time, a step waits for a few groups, not until one of these
// calls has ended. At most one is in the queue when it comes, and inFlight groups may be ahead of its answer.
func TestLargeCallsLeaveRoom(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	stop := make(chan struct{})
	var adders sync.WaitGroup
	for caller := range 6 {
		adders.Go(func() {
			for round := 0; ; round++ {
				items := make([]store.Item, 16384)
				for i := range items {
					n := (caller*100+round)*len(items) + i
					items[i] = store.Item{Key: testKey(n), Queue: fmt.Sprintf("queue-%04d", n%5000), URL: fmt.Sprintf("https://example.com/%09d", n)}
				}
				if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for s.groups.Load() < 15 {
		if _, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	longest := int64(0)
	for range 30 {
		before := s.groups.Load()
		if _, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 1}); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, int64(s.groups.Load()-before))
	}
	close(stop)
	adders.Wait()
	if t.Logf("a take waited for at most %d groups", longest); longest > inFlight+3 {
		t.Errorf("a take waited for %d groups; want at most %d", longest, inFlight+3)
	}
}
