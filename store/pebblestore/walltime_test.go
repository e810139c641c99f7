package pebblestore

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

const testDay = 24 * time.Hour

// setClock is a wall clock that can be set, and a monotonic one that can't.
type setClock struct {
	wall *stepClock
	mono atomic.Int64
}

func (c *setClock) set(d time.Duration) { c.wall.step(d) }

func (c *setClock) run(d time.Duration) {
	c.wall.step(d)
	c.mono.Add(int64(d))
}

func (c *setClock) monotonic() time.Duration { return time.Duration(c.mono.Load()) }

func (c *setClock) options() Options {
	return Options{
		FS:    vfs.NewMem(),
		Clock: c.wall.Now, tuning: tuning{generation: 7 * testDay, monotonic: c.monotonic}}
}

func newSetClock() *setClock { return &setClock{wall: newStepClock()} }

// sweep forgets keys older than 56 days, 8 generations.
func sweep(t *testing.T, s *Store) (int64, error) {
	t.Helper()
	return s.Forget(t.Context(), store.Selection{Crawl: "*", Age: 56 * testDay})
}

// TestKeyOfAClockBehindDropsNothing: a key that was recorded while the clock was 60
// days behind made its generation look old.
func TestKeyOfAClockBehindDropsNothing(t *testing.T) {
	clock := newSetClock()
	opt := clock.options()
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 1000))
	clock.set(-60 * testDay)
	see(t, s, "", testKeys(1000, 1001))
	see(t, s, "another", testKeys(0, 10))
	clock.set(60 * testDay)
	clock.run(time.Hour)
	for range 2 {
		if n := forget(t, s, store.Selection{Crawl: "*", Before: clock.wall.Now().Add(-30 * testDay)}); n != 0 {
			t.Errorf("got %d of 1,011 keys forgotten that are an hour old; want 0", n)
		}
		if n, err := sweep(t, s); n != 0 || err != nil {
			t.Errorf("got %d, %v of a sweep; want nothing forgotten", n, err)
		}
		s = reopen(t, s, "db", opt)
	}
	wantSound(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGenerationOfAClockAheadEnds: a generation that was begun while the clock was a
// year ahead took all keys until then, so that none was ever old.
func TestGenerationOfAClockAheadEnds(t *testing.T) {
	clock := newSetClock()
	s := mustOpen(t, "db", clock.options())
	defer s.Close()
	clock.set(365 * testDay)
	see(t, s, "", testKeys(0, 1))
	clock.set(-365 * testDay)
	gone := int64(0)
	for month := range 12 {
		see(t, s, "", testKeys(1000*month, 1000*month+1000))
		clock.run(30 * testDay)
		gone += forget(t, s, store.Selection{Before: clock.wall.Now().Add(-60 * testDay)})
	}
	if gone < 8000 {
		t.Errorf("got %d of 12,000 keys forgotten in 12 months; want those of 8 months", gone)
	}
}

// TestSweepByAClockAhead: the clock jumps by years and stays there. The sweep waits an
// hour, also across a restart, and then forgets a generation an hour.
func TestSweepByAClockAhead(t *testing.T) {
	clock := newSetClock()
	opt := clock.options()
	s := mustOpen(t, "db", opt)
	for i := range 8 {
		see(t, s, "", testKeys(100*i, 100*i+100))
		if n, err := sweep(t, s); n != 0 || err != nil {
			t.Fatalf("got %d, %v; want nothing forgotten", n, err)
		}
		clock.run(7 * testDay)
	}
	clock.set(1000 * testDay)
	s = reopen(t, s, "db", opt)
	if n, err := sweep(t, s); n != 0 || !errors.Is(err, store.ErrClock) {
		t.Fatalf("got %d, %v; want the clock in doubt", n, err)
	}
	clock.run(59 * time.Minute)
	if n, err := sweep(t, s); n != 0 || !errors.Is(err, store.ErrClock) {
		t.Fatalf("got %d, %v after 59 minutes; want the clock in doubt", n, err)
	}
	clock.run(time.Minute)
	sum := int64(0)
	for range 12 {
		n, err := sweep(t, s)
		if n > 100 || err != nil {
			t.Fatalf("got %d, %v in an hour; want a generation, 100", n, err)
		}
		sum += n
		clock.run(time.Hour)
	}
	if sum != 800 {
		t.Errorf("got %d forgotten in 12 hours; want 800", sum)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
