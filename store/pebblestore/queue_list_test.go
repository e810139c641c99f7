package pebblestore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// TestReadOnlyTellsOfQueues checks that a read-only store lists URLs, queues and leases, and refuses
// steps that write.
func TestReadOnlyTellsOfQueues(t *testing.T) {
	fs, ctx := vfs.NewMem(), t.Context()
	s, err := Open("db", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	items := []store.Item{{Key: testKey(1), Queue: "a", URL: "u"}, {Key: testKey(2), Queue: "b", URL: "v"}}
	if _, err := s.Add(ctx, "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(ctx, store.TakeRequest{Queue: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open("db", Options{FS: fs, Mode: OpenReadOnly}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if e, err := storetest.Lookup(ctx, s, "", testKey(1)); err != nil || e.State != store.Leased || e.URL != "u" {
		t.Errorf("got %+v, %v; want the leased URL", e, err)
	}
	if q, err := s.QueueInfo(ctx, "", "b"); err != nil || q.Held != 1 {
		t.Errorf("got %+v, %v; want a queue of 1", q, err)
	}
	n := 0
	for _, err := range s.Entries(ctx, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("got %d entries; want 2", n)
	}
	if _, err := s.Take(ctx, store.TakeRequest{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got error %v of a take; want %v", err, store.ErrInvalid)
	}
}

// TestEntriesWalkOwnLeases: a listing of many queues with a lease each has every URL
// once, and looks at the leases of a queue only.
func TestEntriesWalkOwnLeases(t *testing.T) {
	const queues = listRows + 100
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	var items []store.Item
	for i := range 2 * queues {
		items = append(items, store.Item{Key: testKey(i), Queue: fmt.Sprint(i / 2), URL: "u"})
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: queues, MaxPerQueue: 1}); err != nil || len(got.Leases) != queues {
		t.Fatalf("got %d leases, %v; want one of each queue", len(got.Leases), err)
	}
	at, states := &entryCursor{crawl: store.DefaultCrawl}, map[store.State]int{}
	page := func(tx *txn) error {
		list, _, err := at.page(tx)
		for _, e := range list {
			states[e.State]++
		}
		return err
	}
	for range 6 { // of two rows and a lease of each queue
		if err := s.read(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		if len(at.leases) > 1 {
			t.Errorf("got %d leases to be listed; want those of one queue", len(at.leases))
		}
	}
	if states[store.Leased] != queues || states[store.Queued] != queues {
		t.Errorf("got %v; want %d of each", states, queues)
	}
}

// TestListingsOfNothingAreManySteps: queues that have nothing to list were gone through in
// one step.
func TestListingsOfNothingAreManySteps(t *testing.T) {
	const n = 6 * listRows
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	var items []store.Item
	var done []store.Settlement
	for i := range n {
		items = append(items, store.Item{Key: testKey(i), Queue: fmt.Sprintf("q%06d", i), URL: "u"})
		done = append(done, store.Settlement{Key: testKey(i)})
	}
	items = append(items, store.Item{Key: testKey(n), Queue: "r", URL: "the last"})
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Settle(t.Context(), "", done); err != nil {
		t.Fatal(err)
	}
	before, got := s.accepted.Load(), 0
	for e, err := range s.Entries(t.Context(), "", "") {
		if err != nil || e.URL != "the last" {
			t.Fatalf("got %+v, %v; want the last URL", e, err)
		}
		got++
	}
	if steps := s.accepted.Load() - before; got != 1 || steps < n/listRows || steps > 2*n/listRows {
		t.Errorf("got %d entries in %d steps; want 1 in about %d", got, steps, n/listRows)
	}
	for i := range 100 {
		forget(t, s, store.Selection{Queue: fmt.Sprintf("q%06d", 3*i)})
	}
	listed := 0
	for _, err := range s.Queues(t.Context(), "*", "") {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	if want := n + 1 - 100; listed != want {
		t.Errorf("got %d queues listed; want %d", listed, want)
	}
}
