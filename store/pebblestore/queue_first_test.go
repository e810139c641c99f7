package pebblestore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestFirstSpellingOfWhatMoves asks for the first spellings of URLs that are
// leased and put back all the time: held they are at every moment.
func TestFirstSpellingOfWhatMoves(t *testing.T) {
	t.Run("leases in memory", func(t *testing.T) { testFirstOfMoving(t, 0) })
	t.Run("leases in rows", func(t *testing.T) { testFirstOfMoving(t, 1) })
}

func testFirstOfMoving(t *testing.T, leaseBytes int64) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{textBytes: 1, leaseBytes: leaseBytes}})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var items []store.Item
	for i := range 40 {
		items = append(items, store.Item{Key: testKey(i), Queue: "a", URL: "http://a/first"})
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				leaseAndPutBack(t, s)
			}
		}
	})
	offers := make([]store.Item, len(items))
	for i := range items {
		offers[i] = items[i]
		offers[i].URL = "http://a/second"
	}
	for range 300 {
		verdicts, err := s.Add(t.Context(), "", offers, store.AddOptions{WantFirst: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range verdicts {
			if v.Status != store.Duplicate || v.First != "http://a/first" {
				t.Fatalf("item %d: got %v, first %q; want a duplicate of the first spelling", i, v.Status, v.First)
			}
		}
		for i := range s.texts.shards { // so that all are read
			s.texts.shards[i].forgetAll()
		}
	}
}

func leaseAndPutBack(t *testing.T, s *Store) {
	taken, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 10, MaxPerQueue: 10})
	if err != nil {
		t.Error(err)
		return
	}
	back := make([]store.Settlement, len(taken.Leases))
	for i, l := range taken.Leases {
		back[i] = store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue}
	}
	if _, err := s.Settle(t.Context(), "", back); err != nil {
		t.Error(err)
	}
}

// forgetAll empties a shard as if both halves had been dropped.
func (s *textShard) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young, s.old = textHalf{}, textHalf{}
	for i := range s.moves {
		s.moves[i]++
	}
}

// TestFirstSpellingsOfRows asks for the first spellings of URLs in every state, few and many at a time, after
// their places left the journal.
func TestFirstSpellingsOfRows(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), KeepURLs: true, tuning: tuning{keptPlaces: 300, textBytes: 1}}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, 300))
	completeSome(t, s, 100)
	addItems(t, s, placedItems(300, 600))
	s = reopen(t, s, "db", opt)
	defer s.Close()
	if err := s.See(t.Context(), "", testKeys(900, 1000), make([]bool, 100), store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{3, manyRows - 1, manyRows, 400, 1000} {
		for from := 0; from+batch <= 1000; from += batch {
			wantFirstSpellings(t, s, from, batch)
		}
	}
}

func wantFirstSpellings(t *testing.T, s *Store, from, n int) {
	t.Helper()
	var items []store.Item
	for i := from; i < from+n; i++ {
		if i < 900 && i >= 600 {
			continue // not known
		}
		items = append(items, store.Item{Key: testKey(i), Queue: "q", URL: fmt.Sprint("http://second.example/", i)})
	}
	verdicts, err := s.Add(t.Context(), "", items, store.AddOptions{WantFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.texts.shards { // so that all are read
		s.texts.shards[i].forgetAll()
	}
	seenOnly := testKeys(900, 1000)
	for i, v := range verdicts {
		var want string
		if !slices.Contains(seenOnly, items[i].Key) {
			want = strings.Replace(items[i].URL, "http://second.example/", "https://example.com/", 1)
		}
		if v.Status != store.Duplicate || v.First != want {
			t.Fatalf("%d items: item %d: got %v, first %q; want a duplicate of %q", n, i, v.Status, v.First, want)
		}
	}
}
