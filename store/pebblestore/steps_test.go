package pebblestore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// during runs f, and adds keys one by one in the meantime. It returns how many steps f took, and how
// many adds were answered.
func during(t *testing.T, s *Store, from int, f func()) (steps int64, answered int) {
	t.Helper()
	var over atomic.Bool
	done, before := make(chan struct{}), s.accepted.Load()
	go func() {
		defer close(done)
		defer over.Store(true)
		f()
	}()
	for i := from; !over.Load(); i++ {
		if n := see(t, s, "", testKeys(i, i+1)); n != 1 {
			t.Errorf("got %d new; want a key that nobody had", n)
		}
		answered++
	}
	<-done
	return s.accepted.Load() - before - int64(answered), answered
}

// TestAddsGoOn checks that Verify and forgetting by age take many steps, that adds are
// answered between them, and that the result is right.
func TestAddsGoOn(t *testing.T) {
	n := tortureSize(40_000, 200_000)
	many := int64(n / 10_000)
	clock := newStepClock()
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: time.Hour}})
	defer s.Close()
	see(t, s, "", testKeys(0, n))
	if steps, _ := during(t, s, 10_000_000, func() { wantNoFindings(t, s) }); steps < many {
		t.Errorf("Verify took %d steps; want at least %d", steps, many)
	}
	see(t, s, "", testKeys(n, 3*n))
	clock.step(2 * time.Hour)
	before := clock.Now()
	see(t, s, "", testKeys(30_000_000, 30_000_001))
	var gone int64
	steps, answered := during(t, s, 40_000_000, func() { gone = forget(t, s, store.Selection{Before: before}) })
	if steps < many || gone < int64(3*n) {
		t.Errorf("%d keys were forgotten in %d steps; want %d, in at least %d", gone, steps, 3*n, many)
	}
	wantSeen(t, s, "", int64(1+answered))
	wantSound(t, s)
	if got := see(t, s, "", testKeys(0, 1000)); got != 1000 {
		t.Errorf("got %d new of 1000 that were forgotten", got)
	}
}

func wantNoFindings(t *testing.T, s *Store) {
	r, err := s.Verify(context.Background())
	if err != nil || len(r.Findings) > 0 {
		t.Errorf("got %v, %v; want nothing found", r.Findings, err)
	}
}

// TestVerifyOfWhatGoes: a key that is forgotten, or a crawl, while the store is
// verified is no finding.
func TestVerifyOfWhatGoes(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	see(t, s, "a", testKeys(0, 1000))
	see(t, s, "b", testKeys(0, 1000))
	v := newVerifier(context.Background(), s, &Report{})
	if err := s.read(v.ctx, v.begin); err != nil {
		t.Fatal(err)
	}
	forget(t, s, store.Selection{Crawl: "a", Keys: testKeys(100, 300)})
	forget(t, s, store.Selection{Crawl: "b"})
	see(t, s, "c", testKeys(0, 10))
	if err := v.verify(); err != nil || len(v.r.Findings) > 0 {
		t.Errorf("got %v, %v; want nothing found", v.r.Findings, err)
	}
	if v.r.Keys != 2000 {
		t.Errorf("got %d keys; want the 2000 there were", v.r.Keys)
	}
	if err := v.end(); err != nil {
		t.Fatal(err)
	}
}

// TestForgetOldGoesOn checks that interrupted forgetting by age continues where it was, also after a
// restart.
func TestForgetOldGoesOn(t *testing.T) {
	clock := newStepClock()
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: time.Hour}}
	s := mustOpen(t, "db", opt)
	const step = mostRows * keysOfRow
	const n = 3*step - 10
	see(t, s, "", testKeys(0, n))
	clock.step(2 * time.Hour)
	sel := store.Selection{Before: clock.Now()}
	flushRuns(t, s)
	o := &expireOp{sel: sel}
	if err := onePart(s, o.apply, mostRows); err != errMore || o.n < step || o.n > n/2 {
		t.Fatalf("got %d forgotten in one step, %v; want about %d, and more to do", o.n, err, step)
	}
	wantSeen(t, s, "", n-o.n)
	wantSound(t, s)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantSeen(t, s, "", n-o.n)
	if got := forget(t, s, sel); got != n-o.n {
		t.Errorf("got %d forgotten; want the %d that were left", got, n-o.n)
	}
	wantSound(t, s)
	if got := see(t, s, "", testKeys(0, n)); got != n {
		t.Errorf("got %d new; want all", got)
	}
}

// TestNewKeysWhileForgettingOld checks that keys that are recorded again between two steps of forgetting by age
// are in a younger generation, and stay.
func TestNewKeysWhileForgettingOld(t *testing.T) {
	clock := newStepClock()
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: clock.Now, IndexBytes: -1, tuning: tuning{generation: 24 * time.Hour}})
	defer s.Close()
	const n = 2 * mostRows * keysOfRow
	see(t, s, "", testKeys(0, n))
	clock.step(time.Hour)
	sel := store.Selection{Before: clock.Now()}
	flushRuns(t, s)
	o := &expireOp{sel: sel}
	if err := onePart(s, o.apply, mostRows); err != errMore {
		t.Fatal(err)
	}
	if got := int64(see(t, s, "", testKeys(0, n))); got != o.n {
		t.Errorf("got %d new; want the %d that were forgotten", got, o.n)
	}
	flushRuns(t, s)
	if got := forget(t, s, sel); got != n-o.n {
		t.Errorf("got %d forgotten; want the %d that were left", got, n-o.n)
	}
	wantSeen(t, s, "", o.n)
	if got := int64(see(t, s, "", testKeys(0, n))); got != n-o.n {
		t.Errorf("got %d new; want the %d that were forgotten last", got, n-o.n)
	}
	wantSound(t, s)
}

// TestForgetAllInSteps checks that forgetting of all crawls goes through some crawls in each step, for
// whole crawls, queues and keys, and forgets all of them.
func TestForgetAllInSteps(t *testing.T) {
	const crawls, keys = 3*firstRows + 10, firstRows / 2
	for name, c := range map[string]struct {
		sel   store.Selection
		steps int64
		seen  int64
	}{
		"crawls": {store.Selection{Crawl: "*"}, 3, 0},
		"queues": {store.Selection{Crawl: "*", Queue: "q"}, 4, crawls},
		"keys":   {store.Selection{Crawl: "*", Keys: testKeys(0, keys)}, crawls / (mostRows / keys), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{monotonic: slowParts()}})
			defer s.Close()
			for i := range crawls {
				items := []store.Item{{Key: testKey(0), Queue: "q", URL: "u"}, {Key: testKey(1)}}
				if _, err := s.Add(t.Context(), fmt.Sprint("crawl", i), items, store.AddOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			before := s.accepted.Load()
			n := forget(t, s, c.sel)
			if took := s.accepted.Load() - before; took < c.steps {
				t.Errorf("got %d steps; want at least %d", took, c.steps)
			}
			if n != 2*crawls-c.seen {
				t.Errorf("got %d keys forgotten; want %d", n, 2*crawls-c.seen)
			}
			wantSeen(t, s, "*", c.seen)
			wantSound(t, s)
		})
	}
}

// TestConfigureAllInSteps checks that a change for all queues files some of them in each step, and
// that it holds for all of them.
func TestConfigureAllInSteps(t *testing.T) {
	const queues = 3*firstRows + 10
	clock := newStepClock()
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: clock.Now})
	defer s.Close()
	items := make([]store.Item, 2*queues)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: fmt.Sprint(i % queues), URL: "u"}
	}
	addItems(t, s, items)
	take := func() int {
		t.Helper()
		got, err := s.Take(t.Context(), store.TakeRequest{Crawl: "*", MaxURLs: 2 * queues, MaxQueues: queues, MaxPerQueue: 1, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return len(got.Leases)
	}
	if n := take(); n != queues {
		t.Fatalf("got %d URLs; want one of each queue", n)
	}
	for _, crawl := range []string{"*", ""} {
		before, delay := s.accepted.Load(), time.Minute
		if err := s.Configure(t.Context(), crawl, "", store.QueueChange{Delay: &delay}); err != nil {
			t.Fatal(err)
		}
		if took := s.accepted.Load() - before; took < 3 {
			t.Errorf("crawl %q: got %d steps; want at least 3", crawl, took)
		}
	}
	if n := take(); n != 0 {
		t.Errorf("got %d URLs within the delay; want none", n)
	}
	clock.step(2 * time.Minute)
	if n := take(); n != queues {
		t.Errorf("got %d URLs after the delay; want %d", n, queues)
	}
}
