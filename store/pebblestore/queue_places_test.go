package pebblestore

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// placedItems are URLs of some queues.
func placedItems(from, to int) (items []store.Item) {
	for i := from; i < to; i++ {
		items = append(items, store.Item{Key: testKey(i), Queue: fmt.Sprint("q", i%7), URL: fmt.Sprint("https://example.com/", i)})
	}
	return items
}

func addItems(t *testing.T, s *Store, items []store.Item) {
	t.Helper()
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
}

// completeSome takes n URLs and completes them.
func completeSome(t *testing.T, s *Store, n int) {
	t.Helper()
	got, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: n, MaxPerQueue: n})
	if err != nil || len(got.Leases) != n {
		t.Fatalf("got %d leases, %v; want %d", len(got.Leases), err, n)
	}
	list := make([]store.Settlement, n)
	for i, l := range got.Leases {
		list[i] = store.Settlement{Key: l.Key, Token: l.Token}
	}
	if _, err := s.Settle(t.Context(), "", list); err != nil {
		t.Fatal(err)
	}
}

// rowsOf counts the rows of a table.
func rowsOf(t *testing.T, s *Store, table byte) (n int) {
	t.Helper()
	if err := s.scan([]byte{table}, rowBound(table), func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// wantPlaces looks up URLs by their keys, and counts their states.
func wantPlaces(t *testing.T, s *Store, from, to, queued int) {
	t.Helper()
	got := 0
	for i := from; i < to; i++ {
		e, err := s.Lookup(t.Context(), "", testKey(i))
		if err != nil {
			t.Fatal(err)
		}
		if e.State == store.Queued {
			got++
			if want := fmt.Sprint("https://example.com/", i); e.URL != want {
				t.Fatalf("key %d leads to %q; want %q", i, e.URL, want)
			}
		}
	}
	if got != queued {
		t.Errorf("got %d URLs of %d that are found in their queues by their keys; want %d", got, to-from, queued)
	}
	wantSound(t, s)
}

// TestPlacesOfShortLives: a URL that is completed soon never had a row of its place, so
// that its key costs 16 bytes from then on.
func TestPlacesOfShortLives(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 300}})
	defer s.Close()
	for i := range 20 {
		addItems(t, s, placedItems(i*100, i*100+100))
		completeSome(t, s, 100)
	}
	if n := rowsOf(t, s, tablePlace); n > 0 {
		t.Errorf("got %d rows of places; want none", n)
	}
	if n := rowsOf(t, s, tablePlaces); n > 4 {
		t.Errorf("got %d rows in the journal; want 300 places", n)
	}
	if n := len(s.sched.places.at); n > 0 {
		t.Errorf("got %d places in memory of URLs that have ended", n)
	}
	wantPlaces(t, s, 0, 2000, 0)
}

// TestPlacesGetRows: the places of URLs that stay get rows, which go when the URLs end.
func TestPlacesGetRows(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 300}}
	s := mustOpen(t, "db", opt)
	for i := range 10 {
		addItems(t, s, placedItems(i*100, i*100+100))
	}
	if n := rowsOf(t, s, tablePlace); n != 700 {
		t.Errorf("got %d rows of places; want 700, without the 300 in the journal", n)
	}
	wantPlaces(t, s, 0, 1000, 1000)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantPlaces(t, s, 0, 1000, 1000)
	completeSome(t, s, 950)
	wantPlaces(t, s, 0, 1000, 50)
	addItems(t, s, placedItems(1000, 1400))
	if n := rowsOf(t, s, tablePlace); n > 150 {
		t.Errorf("got %d rows of places; want at most the 150 of URLs that are queued and not in the journal", n)
	}
	wantPlaces(t, s, 0, 1400, 450)
}

// TestPlacesAfterRestart: places of URLs that ended before a restart get no rows after it.
func TestPlacesAfterRestart(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 300}}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, 200))
	completeSome(t, s, 150)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantPlaces(t, s, 0, 200, 50)
	addItems(t, s, placedItems(200, 500))
	if n := rowsOf(t, s, tablePlace); n != 50 {
		t.Errorf("got %d rows of places; want those of the 50 URLs that are queued", n)
	}
	wantPlaces(t, s, 0, 500, 350)
}

// TestPlaceOfRequeued: a URL that is queued again is found where it is now, whether the
// place before is in a row, in the journal or forgotten.
func TestPlaceOfRequeued(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 50}}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, 100))
	completeSome(t, s, 100)
	force := placedItems(0, 40)
	for i := range force {
		force[i].Force, force[i].Queue = true, "again"
	}
	addItems(t, s, force)
	wantPlaces(t, s, 0, 100, 40)
	addItems(t, s, placedItems(100, 200)) // the places of the 40 get rows
	wantPlaces(t, s, 0, 200, 140)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantPlaces(t, s, 0, 200, 140)
	got, err := s.Take(t.Context(), store.TakeRequest{Queue: "again", MaxURLs: 40, MaxPerQueue: 40})
	if err != nil || len(got.Leases) != 40 {
		t.Fatal(len(got.Leases), err)
	}
	for i, l := range got.Leases {
		outcome := []store.Outcome{store.Complete, store.Requeue}[i%2]
		if _, err := s.Settle(t.Context(), "", []store.Settlement{{Key: l.Key, Token: l.Token, Outcome: outcome}}); err != nil {
			t.Fatal(err)
		}
	}
	wantPlaces(t, s, 0, 200, 120)
	if n := forget(t, s, store.Selection{Queue: "again"}); n != 20 {
		t.Errorf("got %d forgotten; want the 20 that were queued again", n)
	}
	addItems(t, s, placedItems(200, 300))
	if n := rowsOf(t, s, tablePlace); n != 100 {
		t.Errorf("got %d rows of places; want those of the 100 URLs that were queued before the last", n)
	}
}
