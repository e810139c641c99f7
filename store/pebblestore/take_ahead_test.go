package pebblestore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestReadAheadIsBounded checks that the read-ahead of a queue takes about 12 kB, however long
// its URLs are and however many are taken together.
func TestReadAheadIsBounded(t *testing.T) {
	for _, tt := range []struct {
		length, take int
		few          bool // rows are kept
	}{{60, 1, true}, {60, 150, true}, {1000, 1, true}, {32 << 10, 1, false}, {32 << 10, 150, false}} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
		fillQueue(t, s, "c", "q", 200, tt.length)
		if got, err := s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: tt.take, MaxPerQueue: tt.take}); err != nil || len(got.Leases) != tt.take {
			t.Fatalf("got %d leases, %v; want %d", len(got.Leases), err, tt.take)
		}
		size := 0
		for _, a := range aheadOf(s, "c") {
			for i := range a.rows[:cap(a.rows)] {
				size += rowBytes(&a.rows[:cap(a.rows)][i])
			}
		}
		if size > 14<<10 || size > 0 != tt.few {
			t.Errorf("%d bytes, take %d: got %d bytes read ahead; want at most 12 kB, and some: %v", tt.length, tt.take, size, tt.few)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// aheadOf returns what was read ahead of queues of a crawl.
func aheadOf(s *Store, crawl string) (list []*ahead) {
	for _, p := range s.crawls[crawl].queues.pages {
		for _, q := range p {
			if q != nil && q.ahead != nil {
				list = append(list, q.ahead)
			}
		}
	}
	return list
}

// TestReadAheadOfLongQueue reads ahead of a queue with few rows of a priority and many others, for
// which there is no room.
func TestReadAheadOfLongQueue(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	later := time.Now().Add(time.Hour)
	items := make([]store.Item, 10_000)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: "q", URL: "u", Due: later}
		if i < 5 {
			items[i].Priority = store.MaxPriority
		}
		if i < 3 {
			items[i].Due = time.Time{}
		}
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 5000, MaxPerQueue: 5000})
	if err != nil || len(got.Leases) != 3 {
		t.Fatalf("got %d leases, %v; want 3", len(got.Leases), err)
	}
	kept := aheadOf(s, store.DefaultCrawl)
	if len(kept) != 1 {
		t.Fatalf("got %d queues read ahead; want 1", len(kept))
	}
	for _, a := range kept {
		if len(a.rows) != 2 || cap(a.rows) > 4 {
			t.Errorf("got %d rows, with room for %d; want 2, with room for at most 4", len(a.rows), cap(a.rows))
		}
	}
}

// TestReadAheadOfManyQueues: where each of many queues has room for few rows, these are
// read and kept by one measure, and those taken leave no room behind.
func TestReadAheadOfManyQueues(t *testing.T) {
	for _, n := range []int{1, 60} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
		fillQueue(t, s, "c", "q", 100, 120)
		s.sched.loaded = aheadRows / 2
		if got, err := s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: n, MaxPerQueue: n}); err != nil || len(got.Leases) != n {
			t.Fatalf("got %d leases, %v; want %d", len(got.Leases), err, n)
		}
		if len(aheadOf(s, "c")) != 1 {
			t.Errorf("take %d: got nothing kept of what was read ahead; want the head and what is behind it", n)
		}
		for _, a := range aheadOf(s, "c") {
			if cap(a.rows) > 2*len(a.rows) {
				t.Errorf("take %d: got %d rows, with room for %d; want room for at most twice as many", n, len(a.rows), cap(a.rows))
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadAheadOfAllCrawls checks that the queues of all crawls share the read-ahead, and that
// removed queues take no part.
func TestReadAheadOfAllCrawls(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	for i := range 30 {
		fillQueue(t, s, fmt.Sprintf("c%d", i/10), fmt.Sprintf("q%d", i), 1, 20)
	}
	want := func(n int) {
		t.Helper()
		if s.sched.loaded != n {
			t.Errorf("got %d queues; want %d", s.sched.loaded, n)
		}
	}
	want(30)
	forget(t, s, store.Selection{Crawl: "c0"})
	want(20)
	forget(t, s, store.Selection{Crawl: "c1", Queue: "q10"})
	see(t, s, "c1", testKeys(0, 1)) // the queue goes with the end of its group
	want(19)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	want(19)
}

// fillQueue adds URLs of a length to a queue.
func fillQueue(t *testing.T, s *Store, crawl, queue string, n, length int) {
	t.Helper()
	items := make([]store.Item, n)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: queue, URL: strings.Repeat("u", length)}
		copy(items[i].Key[:], queue)
	}
	if _, err := s.Add(t.Context(), crawl, items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestReadAheadFollowsTheQueue puts a URL before those that were read ahead, and takes the first of them out: the next takes
// are of the rows as they are then.
func TestReadAheadFollowsTheQueue(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	item := func(i int, due time.Duration) store.Item {
		return store.Item{Key: testKey(i), Queue: "q", URL: fmt.Sprint(i), Due: time.UnixMilli(1).Add(due)}
	}
	add := func(items ...store.Item) {
		t.Helper()
		if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	take := func(want string) {
		t.Helper()
		got, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 1})
		if err != nil || len(got.Leases) != 1 || got.Leases[0].URL != want {
			t.Fatalf("got %v, %v; want URL %s", got.Leases, err, want)
		}
	}
	for i := range 20 {
		add(item(i, time.Duration(i)*time.Minute))
	}
	take("0")
	if len(aheadOf(s, store.DefaultCrawl)) != 1 {
		t.Fatal("nothing was read ahead")
	}
	add(item(20, 90*time.Second))
	take("1")
	take("20")
	if _, err := s.Settle(t.Context(), "", []store.Settlement{{Key: testKey(2), Outcome: store.Complete}}); err != nil {
		t.Fatal(err)
	}
	take("3")
}
