package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
	"github.com/firstseen/firstseen/store/storetest"
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
		e, err := storetest.Lookup(t.Context(), s, "", testKey(i))
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
	if n := rowsOf(t, s, tablePlaces); n > 4*(100/placesOfRow+1) {
		t.Errorf("got %d rows in the journal; want those of 300 places", n)
	}
	if n := s.sched.places.at.used; n > 0 {
		t.Errorf("got %d places of URLs that have ended in memory", n)
	}
	wantPlaces(t, s, 0, 2000, 0)
}

// TestPlacesGetRows: the places of URLs that stay get rows, and others do not.
func TestPlacesGetRows(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 300}}
	s := mustOpen(t, "db", opt)
	for i := range 10 {
		addItems(t, s, placedItems(i*100, i*100+100))
	}
	if n := rowsOf(t, s, tablePlace); n != 700 {
		t.Errorf("got %d rows of places; want 700, without the 300 in the journal", n)
	}
	if n := s.sched.places.at.used; n != 300 {
		t.Errorf("got %d places in memory; want the 300 in the journal", n)
	}
	wantPlaces(t, s, 0, 1000, 1000)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantPlaces(t, s, 0, 1000, 1000)
	completeSome(t, s, 950)
	wantPlaces(t, s, 0, 1000, 50)
	addItems(t, s, placedItems(1000, 1400))
	if n := rowsOf(t, s, tablePlace); n < 700 || n > 850 {
		t.Errorf("got %d rows of places; want the 700 that there were, and at most 150 of URLs that are queued", n)
	}
	wantPlaces(t, s, 0, 1400, 450)
}

// TestPlacesOfForgottenKeysGo checks that a key that is forgotten leaves no place.
func TestPlacesOfForgottenKeysGo(t *testing.T) {
	for name, sel := range map[string]store.Selection{"keys": {Keys: testKeys(0, 1000)}, "queue": {Queue: "a"}, "crawl": {}} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 300}})
		for i := 0; i < 1000; i += 100 {
			addQueued(t, s, "a", i, i+100)
		}
		if n := rowsOf(t, s, tablePlace); n != 700 {
			t.Errorf("%s: got %d rows of places; want 700, without the 300 in the journal", name, n)
		}
		if got := forget(t, s, sel); got != 1000 {
			t.Errorf("%s: got %d keys forgotten; want all", name, got)
		}
		addQueued(t, s, "b", 1000, 1001) // if places of forgotten URLs were in memory, they would get rows
		if n := rowsOf(t, s, tablePlace); n > 0 {
			t.Errorf("%s: got %d rows of places of keys that were forgotten", name, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
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
	if n := rowsOf(t, s, tablePlace); n < 100 || n > 220 {
		t.Errorf("got %d rows of places; want at least those of the 100 URLs that were queued before the last", n)
	}
}

// TestPlaceTable compares the table with a map, with hashes of which many begin at the same slots.
func TestPlaceTable(t *testing.T) {
	rng := newRand(7)
	var table placeTable
	want := map[uint64]uint32{}
	for step := range uint32(100_000) {
		hash := uint64(rng.IntN(10))<<40 | uint64(rng.IntN(50))<<1 | 1<<63
		switch rng.IntN(5) {
		case 0, 1:
			table.put(hash, step+1)
			want[hash] = step + 1
		case 2:
			table.remove(hash)
			delete(want, hash)
		}
		if row := table.get(hash); row != want[hash] {
			t.Fatalf("step %d: got row %d; want %d", step, row, want[hash])
		}
	}
	if table.used != len(want) || len(table.slots) > 1024 {
		t.Errorf("got %d places in %d slots; want %d", table.used, len(table.slots), len(want))
	}
}

// TestPlaceRows: rows keep their numbers beyond the bits that the table has of them.
func TestPlaceRows(t *testing.T) {
	for _, first := range []uint64{1, rowCycle - 5, 1<<32 - 5, 7*rowCycle - 5} {
		var j places
		for i := range uint64(10) {
			j.put(&placeKey{key: testKey(int(i))}, first+i)
		}
		j.next = first + 1000
		for i := range uint64(10) {
			if row := j.row(&placeKey{key: testKey(int(i))}); row != first+i {
				t.Errorf("got row %d; want %d", row, first+i)
			}
		}
		if row := j.row(&placeKey{key: testKey(10)}); row != 0 {
			t.Errorf("got row %d of a URL without a place; want none", row)
		}
	}
}

// heldLog holds up the first file of Pebble's log that is begun when it is armed.
type heldLog struct {
	armed            atomic.Bool
	entered, release chan struct{}
}

func (h *heldLog) wait(op errorfs.Op) error {
	if (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite) && strings.HasSuffix(op.Path, ".log") && h.armed.CompareAndSwap(true, false) {
		close(h.entered)
		<-h.release
	}
	return nil
}

// TestFirstWhilePlacesGetRows: a URL has its first-seen URL also while the batch that moves
// its place from the journal to a row is not applied yet.
func TestFirstWhilePlacesGetRows(t *testing.T) {
	h := &heldLog{entered: make(chan struct{}), release: make(chan struct{})}
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(h.wait))
	s := mustOpen(t, "db", Options{FS: fs, tuning: tuning{keptPlaces: 300, memTableBytes: 64 << 10, textBytes: 1}})
	defer s.Close()
	addItems(t, s, placedItems(0, 1000))
	h.armed.Store(true)
	done := make(chan struct{})
	var n atomic.Int64
	n.Store(1000)
	go func() {
		defer close(done)
		for h.armed.Load() {
			at := int(n.Load())
			if _, err := s.Add(context.Background(), "", placedItems(at, at+100), store.AddOptions{}); err != nil {
				t.Error(err)
			}
			n.Add(100)
		}
	}()
	<-h.entered
	lost, offered := 0, int(n.Load())
	begun, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		close(begun)
		for i := range offered {
			o := duplicateOf(s, testKey(i))
			if err := s.tellFirst(o); err != nil {
				t.Error(err)
			}
			if o.verdicts[0].First == "" {
				lost++
			}
		}
	}()
	<-begun
	time.Sleep(10 * time.Millisecond) // the search has begun before the batch is applied
	close(h.release)
	<-told
	<-done
	if lost > 0 {
		t.Errorf("got %d of %d duplicates without their first-seen URL", lost, offered)
	}
}

// TestPlacesOfKeptTexts: the texts of URLs that ended are found by their keys also when the
// store was opened again without KeepURLs and their places left the journal.
func TestPlacesOfKeptTexts(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), KeepURLs: true, tuning: tuning{keptPlaces: 300}}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, 200))
	completeSome(t, s, 200)
	opt.KeepURLs = false
	s = reopen(t, s, "db", opt)
	addItems(t, s, placedItems(200, 600)) // the places of the 200 leave the journal
	opt.KeepURLs = true
	s = reopen(t, s, "db", opt)
	defer s.Close()
	for i := range 200 {
		e, err := storetest.Lookup(t.Context(), s, "", testKey(i))
		if want := fmt.Sprint("https://example.com/", i); err != nil || e.State != store.Done || e.URL != want {
			t.Fatalf("key %d: got %v %q, %v; want it done, with %q", i, e.State, e.URL, err, want)
		}
	}
	wantSound(t, s)
}

// TestPlacesWithinAStep: URLs are found where the same step queued them, which is in rows of places that are
// not written yet.
func TestPlacesWithinAStep(t *testing.T) {
	const n = 3 * placesOfRow
	opt := Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: n}}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, n))
	completeSome(t, s, n)
	var list []store.Settlement
	for _, it := range placedItems(0, n) {
		list = append(list, store.Settlement{Key: it.Key, URL: it.URL, Queue: it.Queue, Outcome: store.Requeue, Create: true})
	}
	for i := range n / 2 {
		list = append(list, store.Settlement{Key: testKey(i), Outcome: store.Complete})
	}
	list = append(list, store.Settlement{Key: testKey(n - 1), Outcome: store.Requeue}) // from the last row
	answers, err := s.Settle(t.Context(), "", list)
	if err != nil || slices.ContainsFunc(answers, func(a store.SettleStatus) bool { return a != store.Settled }) {
		t.Fatal(answers, err)
	}
	wantPlaces(t, s, 0, n, n/2)
	addItems(t, s, placedItems(n, 2*n))
	addItems(t, s, placedItems(2*n, 3*n)) // the places of the first step leave the journal
	if got := rowsOf(t, s, tablePlace); got < n/2 {
		t.Errorf("got %d rows of places; want at least those of the %d URLs that are queued", got, n/2)
	}
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantPlaces(t, s, 0, 3*n, n/2+2*n)
}

// TestPlacesOfOneRow: the last of several places that a row has of a URL counts when the row leaves the journal.
func TestPlacesOfOneRow(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 10}})
	defer s.Close()
	k, last := testKey(1), pointer{queue: 7, at: sched.Head{Due: dueBase + 3, Seq: 3}}
	err := s.do(t.Context(), 1, func(tx *txn) error {
		c := tx.crawl(store.DefaultCrawl, true)
		for seq := range last.at.Seq {
			p := last
			p.at.Seq = seq + 1
			tx.setPlace(c, &k, &p)
		}
		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	addItems(t, s, placedItems(2, 30))
	addItems(t, s, placedItems(30, 60))
	if p, err := readPlace(s.db, s.crawls[store.DefaultCrawl].num, &k); err != nil || p != last {
		t.Errorf("got %v, %v; want %v", p, err, last)
	}
}

// TestLostRowOfPlaces: a store whose row of places is lost fails before it drops the places.
func TestLostRowOfPlaces(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 100}})
	defer s.Close()
	addItems(t, s, placedItems(0, 80))
	if err := s.db.Delete(appendLongRow(nil, tablePlaces, 1), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), "", placedItems(100, 180), store.AddOptions{}); !errors.Is(err, store.ErrFailed) || !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v; want %v, %v", err, store.ErrFailed, store.ErrCorrupt)
	}
}

// TestQueueNamesAreCopies: the name of a queue in memory keeps no message of a client.
func TestQueueNamesAreCopies(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	for round := range 2 {
		message := "queue"
		items := []store.Item{{Key: testKey(round), Queue: message, URL: "https://example.com/"}}
		addItems(t, s, items)
		if name := s.crawls[store.DefaultCrawl].queues.named(message).Name; unsafe.StringData(name) == unsafe.StringData(message) {
			t.Errorf("round %d: got the caller's string as the name of a queue", round)
		}
		completeSome(t, s, 1) // the queue leaves memory, and is read from its row
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
