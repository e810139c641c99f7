package pebblestore

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestFreeLeases checks what Open does about the leases of the process before: it logs how many there are, or frees them, also overtaken
// ones and those whose texts are in their rows alone.
func TestFreeLeases(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	opt := Options{FS: vfs.NewMem(), Clock: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	opt.leaseBytes = 1
	s := mustOpen(t, "db", opt)
	addQueued(t, s, "a", 0, 5000)
	short := takeFor(t, s, 1, time.Second)
	now = now.Add(time.Minute)
	leases := takeFor(t, s, 4000, time.Hour)
	if got := settleAll(t, s, []store.Settlement{{Key: short[0].Key, Token: short[0].Token, Late: true, Fetched: true}}); got[0] != store.Settled {
		t.Fatalf("got answer %v to the late success; want settled", got[0])
	}
	s.Close()
	if log.Len() > 0 {
		t.Errorf("got a log of a new store: %s", &log)
	}

	s = mustOpen(t, "db", opt)
	if text := log.String(); !strings.Contains(text, "leases=3999") || !strings.Contains(text, "longest=1h0m0s") {
		t.Errorf("got log %q; want 3999 leases of an hour", text)
	}
	s.Close()

	opt.FreeLeases = true
	s = mustOpen(t, "db", opt)
	defer s.Close()
	wantSound(t, s)
	st, err := s.Stats(t.Context(), "")
	if err != nil || st.Held != 4999 || st.InFlight != 0 || st.Completed != 1 {
		t.Errorf("got stats %+v, %v; want 4999 held and none in flight", st, err)
	}
	last := leases[len(leases)-1]
	if got := settleAll(t, s, []store.Settlement{{Key: last.Key, Token: last.Token, Late: true, Fetched: true}}); got[0] != store.Stale {
		t.Errorf("got answer %v to a token from before; want stale", got[0])
	}
	again := takeFor(t, s, 5000, time.Hour)
	if len(again) != 4999 {
		t.Fatalf("got %d leases; want 4999", len(again))
	}
	for _, l := range again {
		if l.URL == "" || l.Key == last.Key && l.Attempts != last.Attempts {
			t.Fatalf("got lease %+v; want its text, and no attempt counted for the lease that was freed", l)
		}
	}
}

// TestMarksAreBounded checks that the oldest mark goes when there are too many, also after an Open, and that it is counted.
func TestMarksAreBounded(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	opt.marks = 3
	s := mustOpen(t, "db", opt)
	addQueued(t, s, "a", 0, 5)
	drop := func(n int) (list []store.Settlement) {
		for _, l := range takeFor(t, s, n, time.Hour) {
			list = append(list, store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Drop, Mark: 7})
		}
		return list
	}
	first := drop(3)
	settleAll(t, s, first)
	s.Close()
	s = mustOpen(t, "db", opt)
	defer s.Close()
	settleAll(t, s, drop(1))
	m, err := s.Metrics(t.Context())
	if err != nil || m.Marked != 3 || m.MarksEvicted != 1 {
		t.Errorf("got %d marks, %d evicted, %v; want 3 and 1", m.Marked, m.MarksEvicted, err)
	}
	for i, want := range []bool{false, true, true} {
		v, err := s.Add(t.Context(), "", []store.Item{{Key: first[i].Key, Queue: "a", URL: "other", Variant: true}}, store.AddOptions{})
		if err != nil || v[0].Requeued != want {
			t.Errorf("got %+v, %v for key %d; want requeued %v", v, err, i, want)
		}
	}
	wantSound(t, s)
	if _, err := s.Forget(t.Context(), store.Selection{}); err != nil {
		t.Error(err)
	}
	wantSound(t, s)
	if n := rowsOf(t, s, tableMark); n != 0 {
		t.Errorf("got %d rows of marks of a crawl that is forgotten", n)
	}
}

// overtaken opens a store with one URL that was leased for a second, and a minute later for an hour.
func overtaken(t *testing.T) (s *Store, now *time.Time, first, newer store.Entry) {
	now = new(time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC))
	s = mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: func() time.Time { return *now }})
	addQueued(t, s, "a", 0, 1)
	first = takeFor(t, s, 1, time.Second)[0]
	*now = now.Add(time.Minute)
	return s, now, first, takeFor(t, s, 1, time.Hour)[0]
}

// TestOvertakenRowsGo checks that the row of an overtaken lease goes with the first step after its end, also if only a reader met the end,
// and its queue from memory with it.
func TestOvertakenRowsGo(t *testing.T) {
	s, now, first, _ := overtaken(t)
	defer s.Close()
	settleAll(t, s, []store.Settlement{{Key: first.Key, Token: first.Token, Late: true, Fetched: true}})
	if n, loaded := rowsOf(t, s, tableLease), s.sched.loaded; n != 1 || loaded != 1 {
		t.Errorf("got %d rows of leases and %d queues in memory; want those of the overtaken lease", n, loaded)
	}
	*now = now.Add(time.Hour)
	wantStats(t, s, store.Stats{Seen: 1, Completed: 1, Fetched: 1, Queues: 1})
	see(t, s, "", []store.Key{testKey(7)})
	if n, loaded := rowsOf(t, s, tableLease), s.sched.loaded; n != 0 || loaded != 0 {
		t.Errorf("got %d rows of leases and %d queues in memory after its end; want none", n, loaded)
	}
	wantSound(t, s)
}

// TestOvertakenEndsInDamage: a settlement of an overtaken lease ends it also where the row of its URL, which may wait for that, is damaged.
func TestOvertakenEndsInDamage(t *testing.T) {
	s, _, first, newer := overtaken(t)
	defer s.Close()
	settleAll(t, s, []store.Settlement{{Key: first.Key, Token: first.Token, Outcome: store.Requeue, Late: true, NewRound: true}})
	spoil := func(key, _ []byte) error { return s.db.Set(key, []byte{1}, nil) }
	if err := s.scan([]byte{tableOrder}, rowBound(tableOrder), spoil); err != nil {
		t.Fatal(err)
	}
	got := settleAll(t, s, []store.Settlement{{Key: newer.Key, Token: newer.Token}})
	if n := rowsOf(t, s, tableLease); got[0] != store.AlreadyDone || n != 0 {
		t.Errorf("got %v and %d rows of leases; want already done and none", got[0], n)
	}
}

// takeFor leases up to n URLs of one queue for a time.
func takeFor(t *testing.T, s *Store, n int, lease time.Duration) []store.Entry {
	t.Helper()
	got, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: n, MaxPerQueue: n, Lease: lease})
	if err != nil || len(got.Leases) == 0 {
		t.Fatalf("got %d leases, %v; want some", len(got.Leases), err)
	}
	return got.Leases
}

func settleAll(t *testing.T, s *Store, list []store.Settlement) []store.SettleStatus {
	t.Helper()
	got, err := s.Settle(t.Context(), "", list)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
