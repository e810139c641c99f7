package pebblestore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// stepClock is a clock that tests move. The committer reads it, too: the steps that fill
// the index are in no call of the test.
type stepClock struct{ now atomic.Pointer[time.Time] }

func newStepClock() *stepClock {
	var c stepClock
	c.set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &c
}

func (c *stepClock) Now() time.Time       { return *c.now.Load() }
func (c *stepClock) set(to time.Time)     { c.now.Store(&to) }
func (c *stepClock) step(d time.Duration) { c.set(c.Now().Add(d)) }

func forget(t testing.TB, s *Store, sel store.Selection) int64 {
	t.Helper()
	n, err := s.Forget(context.Background(), sel)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func reopen(t testing.TB, s *Store, dir string, opt Options) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, dir, opt)
}

func wantSeen(t testing.TB, s *Store, crawl string, want int64) {
	t.Helper()
	st, err := s.Stats(context.Background(), crawl)
	if err != nil || st.Seen != want {
		t.Fatalf("got %+v, %v; want %d seen in %q", st, err, want, crawl)
	}
}

func TestForgetBefore(t *testing.T) {
	clock := newStepClock()
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: 24 * time.Hour}}
	s := mustOpen(t, "db", opt)
	for day := range 5 {
		see(t, s, "", testKeys(100*day, 100*day+100))
		see(t, s, "", testKeys(0, 100)) // asked again, and no younger for it
		clock.step(24 * time.Hour)
	}
	start := clock.Now().Add(-5 * 24 * time.Hour)
	if n := forget(t, s, store.Selection{Before: start.Add(2*24*time.Hour + 1)}); n != 300 {
		t.Fatalf("got %d forgotten; want those of three days, 300", n)
	}
	wantSeen(t, s, "", 200)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantSeen(t, s, "", 200)
	if n := see(t, s, "", testKeys(0, 500)); n != 300 {
		t.Fatalf("got %d new; want 300", n)
	}
	clock.step(time.Hour)
	if n := forget(t, s, store.Selection{Before: clock.Now()}); n != 500 {
		t.Fatalf("got %d forgotten; want all 500", n)
	}
	if n := see(t, s, "", testKeys(0, 5)); n != 5 {
		t.Fatalf("got %d new; want 5", n)
	}
}

// TestForgetBeforeKeepsHeld: a key that was held when those of its age were forgotten
// counts as recorded then, also when it is held no more; others that are as old as
// those it is with now don't.
func TestForgetBeforeKeepsHeld(t *testing.T) {
	clock := newStepClock()
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: 15 * 24 * time.Hour}})
	defer s.Close()
	day := func(n int) time.Time { return newStepClock().Now().AddDate(0, 0, n) }
	if _, err := s.Add(t.Context(), "", []store.Item{{Key: testKey(0), Queue: "a", URL: "u"}}, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.set(day(16))
	see(t, s, "", testKeys(1, 5))
	clock.set(day(20))
	if n := forget(t, s, store.Selection{Before: day(5)}); n != 0 {
		t.Errorf("got %d forgotten; want none of that age but the held one", n)
	}
	done := []store.Settlement{{Key: testKey(0), Outcome: store.Complete}}
	if got, err := s.Settle(t.Context(), "", done); err != nil || got[0] != store.Settled {
		t.Fatalf("got %v, %v; want it completed", got, err)
	}
	if n := forget(t, s, store.Selection{Before: day(18)}); n != 4 {
		t.Errorf("got %d forgotten; want the 4 that were never held", n)
	}
	wantSeen(t, s, "", 1)
	clock.step(24 * time.Hour)
	if n := forget(t, s, store.Selection{Before: clock.Now()}); n != 1 {
		t.Errorf("got %d forgotten; want the last one", n)
	}
}
