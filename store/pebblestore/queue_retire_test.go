package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
)

// addTo queues keys lo to hi in a queue, and returns how many were new.
func addQueued(t testing.TB, s *Store, queue string, lo, hi int) (fresh int) {
	t.Helper()
	items := make([]store.Item, 0, hi-lo)
	for i := lo; i < hi; i++ {
		items = append(items, store.Item{Key: testKey(i), Queue: queue, URL: fmt.Sprint("http://", queue, "/", i)})
	}
	verdicts, err := s.Add(context.Background(), "", items, store.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Status == store.New {
			fresh++
		}
	}
	return fresh
}

func takeSome(t testing.TB, s *Store, n int) []store.Entry {
	t.Helper()
	taken, err := s.Take(context.Background(), store.TakeRequest{MaxURLs: n, MaxPerQueue: n, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return taken.Leases
}

func wantStats(t testing.TB, s *Store, want store.Stats) {
	t.Helper()
	if got, err := s.Stats(context.Background(), ""); err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
}

// TestForgetQueueIsManySteps: a queue of 40,000 URLs, leases and texts was forgotten in
// one step, in quadratic time; now each step changes few rows.
func TestForgetQueueIsManySteps(t *testing.T) {
	const n = 20_000
	var most atomic.Int64
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), KeepURLs: true, tuning: tuning{observe: func(g groupInfo) {
		most.Store(max(most.Load(), int64(g.rows)))
	}}})
	defer s.Close()
	for i := 0; i < n; i += 1000 {
		addQueued(t, s, "a", i, i+1000)
	}
	addQueued(t, s, "b", n, n+10)
	for range 5 {
		var done []store.Settlement
		for _, l := range takeSome(t, s, 1000) {
			done = append(done, store.Settlement{Key: l.Key, Token: l.Token})
		}
		if _, err := s.Settle(t.Context(), "", done); err != nil {
			t.Fatal(err)
		}
	}
	leases := takeSome(t, s, 3000)
	most.Store(0)
	before := s.accepted.Load()
	if got := forget(t, s, store.Selection{Queue: "a"}); got != n {
		t.Errorf("got %d keys forgotten; want %d", got, n)
	}
	if steps := s.accepted.Load() - before; steps < n/mostRows {
		t.Errorf("got %d steps; want at least %d", steps, n/mostRows)
	}
	if most := most.Load(); most > 4*mostRows {
		t.Errorf("got a group of %d rows; want at most %d", most, 4*mostRows)
	}
	wantSound(t, s)
	if got, err := s.Settle(t.Context(), "", []store.Settlement{{Key: leases[len(leases)-1].Key, Token: leases[len(leases)-1].Token}}); err != nil || got[0] != store.Stale {
		t.Errorf("got %v, %v for a lease of a forgotten queue; want stale", got, err)
	}
	if fresh := addQueued(t, s, "a", 0, n); fresh != n {
		t.Errorf("got %d of %d URLs new again", fresh, n)
	}
}

// partly forgets queue a, of 10,000 URLs of which some are leased, and stops after a few
// steps as a crash would.
func partly(t *testing.T, s *Store) (leases []store.Entry, gone int64) {
	t.Helper()
	addQueued(t, s, "a", 0, 10_000)
	leases = takeSome(t, s, 2000)
	o := &forgetOp{sel: store.Selection{Queue: "a"}}
	if err := onePart(s, o.apply, 1000); err != errMore || len(o.left) != 1 {
		t.Fatalf("got %v, %d queues left; want one, not forgotten in one step", err, len(o.left))
	}
	return leases, o.n
}

// TestAddsToAQueueThatIsForgotten checks that URLs added while the queue is forgotten stay, are served,
// and are new once.
func TestAddsToAQueueThatIsForgotten(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{leaseBytes: 1}} // a lease that ends has no texts in memory
	s := mustOpen(t, "db", opt)
	leases, gone := partly(t, s)
	if fresh := addQueued(t, s, "a", 20_000, 21_000); fresh != 1000 {
		t.Errorf("got %d of 1,000 new", fresh)
	}
	known := leases[0].Key // its step hasn't come: it is forced into another queue
	if v, err := s.Add(t.Context(), "", []store.Item{{Key: known, Queue: "c", URL: "u", Force: true}}, store.AddOptions{}); err != nil || !v[0].Requeued {
		t.Errorf("got %v, %v; want it queued again", v, err)
	}
	again, err := s.Take(t.Context(), store.TakeRequest{Queue: "c", Lease: time.Hour})
	if err != nil || len(again.Leases) != 1 {
		t.Fatalf("got %d leases, %v; want the one that was forced", len(again.Leases), err)
	}
	later := leases[1].Key
	if got, err := s.Settle(t.Context(), "", []store.Settlement{{Key: later, Queue: "d", URL: "v", Outcome: store.Requeue, Create: true}}); err != nil || got[0] != store.Settled {
		t.Errorf("got %v, %v; want it queued again", got, err)
	}
	wantSound(t, s)
	if got := forget(t, s, store.Selection{Queue: "a"}); got+gone != 10_998 {
		t.Errorf("got %d forgotten in all; want 9,998, and 1,000 that were added since", got+gone)
	}
	back := []store.Settlement{{Key: known, Token: again.Leases[0].Token, Outcome: store.Requeue}}
	if got, err := s.Settle(t.Context(), "", back); err != nil || got[0] != store.Settled {
		t.Errorf("got %v, %v for the lease of another queue; want it settled", got, err)
	}
	addQueued(t, s, "a", 30_000, 30_500)
	wantStats(t, s, store.Stats{Seen: 502, Held: 502, Queues: 3, Active: 3})
	wantSound(t, s)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantStats(t, s, store.Stats{Seen: 502, Held: 502, Queues: 3, Active: 3})
	if got := len(takeSome(t, s, 10_000)); got != 502 {
		t.Errorf("got %d URLs to take; want 502", got)
	}
	if fresh := addQueued(t, s, "a", 0, 10_000); fresh != 10_000-2 {
		t.Errorf("got %d new again; want all but the two that were queued elsewhere", fresh)
	}
}

// TestPlacesOfRetiredQueuesStay: a lease of a queue that is forgotten can be found by its key no more. Its
// place must stay nevertheless, or its key would be seen for ever.
func TestPlacesOfRetiredQueuesStay(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	addQueued(t, s, "a", 0, 3*mostRows)
	takeSome(t, s, 3*mostRows)
	o := &forgetOp{sel: store.Selection{Queue: "a"}}
	if err := onePart(s, o.apply, mostRows); err != errMore || len(o.left) != 1 {
		t.Fatalf("got %d queues left, %v; want one", len(o.left), err)
	}
	left, err := ask(t.Context(), s, func(tx *txn) (n int, err error) {
		c := s.crawls[store.DefaultCrawl]
		for _, l := range o.left[0].q.Leases(10) {
			f, err := tx.findOne(c, &l.Key)
			if err != nil {
				return n, err
			}
			if f.state != store.SeenOnly || c.queues.Leases[l.Key] != nil {
				t.Errorf("got %+v of a lease of a queue that is forgotten; want its key alone", f)
			}
			if !s.leads(c, &l.Key, f.ptr) {
				t.Error("the place of a lease of a queue that is forgotten would be dropped")
			}
			n++
		}
		return n, nil
	})
	if err != nil || left != 10 {
		t.Errorf("got %d leases left, %v; want 10", left, err)
	}
	if err := s.do(t.Context(), firstRows, o.apply); err != nil {
		t.Fatal(err)
	}
	if fresh := addQueued(t, s, "b", 0, 3*mostRows); fresh != 3*mostRows {
		t.Errorf("got %d URLs new again; want all", fresh)
	}
	wantSound(t, s)
}

// TestSettleOfForgottenLeasesReadsNoRuns checks that leases of a queue that is being forgotten are stale,
// and that the store does not fail, although the run with their keys is damaged.
func TestSettleOfForgottenLeasesReadsNoRuns(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{IndexBytes: -1})
	const n = 3 * mostRows
	addQueued(t, s, "a", 0, n)
	flushRuns(t, s)
	leases := takeSome(t, s, n)
	o := &forgetOp{sel: store.Selection{Queue: "a"}}
	if err := onePart(s, o.apply, mostRows); err != errMore || len(o.left) != 1 {
		t.Fatalf("got %d queues left, %v; want one", len(o.left), err)
	}
	flipAt(t, s.opt.FS, s.opt.FS.PathJoin(s.runsDir(), runFiles(t, s)[0]), 61) // in the first bucket
	var list []store.Settlement
	for _, l := range leases {
		list = append(list, store.Settlement{Key: l.Key, Token: l.Token})
	}
	got, err := s.Settle(t.Context(), "", list)
	if err != nil {
		t.Errorf("got %v; want that the leases are stale", err)
	}
	for i, status := range got {
		if status != store.Stale {
			t.Fatalf("lease %d: got %v; want stale", i, status)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestForgottenQueueAfterARestart: what a crash left of a forgotten queue goes in the
// background.
func TestForgottenQueueAfterARestart(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	leases, _ := partly(t, s)
	addQueued(t, s, "a", 20_000, 20_100)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	for len(s.stillRetired(t)) > 0 {
		time.Sleep(time.Millisecond)
	}
	if n := rowsOf(t, s, tableRetired); n > 0 {
		t.Errorf("got %d rows of queues to forget after they were forgotten", n)
	}
	wantStats(t, s, store.Stats{Seen: 100, Held: 100, Queues: 1, Active: 1})
	wantSound(t, s)
	if got, err := s.Settle(t.Context(), "", []store.Settlement{{Key: leases[0].Key, Token: leases[0].Token}}); err != nil || got[0] != store.Stale {
		t.Errorf("got %v, %v; want a stale lease", got, err)
	}
	if fresh := addQueued(t, s, "a", 0, 10_000); fresh != 10_000 {
		t.Errorf("got %d of 10,000 new again", fresh)
	}
}

// TestForgetCrawlOfAForgottenQueue checks that forgetting a crawl removes the rest of a queue that is being forgotten.
func TestForgetCrawlOfAForgottenQueue(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	partly(t, s)
	forget(t, s, store.Selection{})
	if left := s.stillRetired(t); len(left) > 0 {
		t.Errorf("got %d queues to forget; want none", len(left))
	}
	for _, table := range []byte{tableLease, tableRetired, tableOrder, tablePlace} {
		if n := rowsOf(t, s, table); n > 0 {
			t.Errorf("got %d rows of table %c; want none", n, table)
		}
	}
	wantSound(t, s)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantStats(t, s, store.Stats{})
	if fresh := addQueued(t, s, "a", 0, 1000); fresh != 1000 {
		t.Errorf("got %d of 1,000 new", fresh)
	}
}

// stillRetired returns the retired queues.
func (s *Store) stillRetired(t *testing.T) (left []*retired) {
	t.Helper()
	if err := s.read(t.Context(), func(tx *txn) error {
		left = append(left, tx.s.sched.retired...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return left
}

// TestForgetQueuePowerCuts cuts the power at random writes while a queue is forgotten and
// added to. Once the rest is forgotten, the old URLs are new, and the acknowledged URLs that were added
// since are there.
func TestForgetQueuePowerCuts(t *testing.T) {
	for seed := range tortureCount(t, 12, 2000) {
		rng := newRand(uint64(seed))
		disk := vfs.NewCrashableMem()
		s := mustOpen(t, "db", Options{FS: disk})
		addQueued(t, s, "a", 0, 6000)
		takeSome(t, s, 1500)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var writes, added, addedAtCut atomic.Int64
		var mu sync.Mutex
		var after *vfs.MemFS
		at, unsynced := 1+rng.Int64N(120), []int{0, 50, 100}[rng.IntN(3)]
		forgotten, wasForgotten := false, false
		fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) == at {
				mu.Lock()
				after = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng})
				addedAtCut.Store(added.Load())
				wasForgotten = forgotten
				mu.Unlock()
			}
			return nil
		}))
		s = mustOpen(t, "db", Options{FS: fs})
		begun := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			o := &forgetOp{sel: store.Selection{Queue: "a"}}
			err := onePart(s, o.apply, firstRows)
			close(begun)
			if err == errMore {
				err = s.do(context.Background(), firstRows, o.apply)
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			forgotten = true
			mu.Unlock()
		})
		<-begun
		for i := 10_000; i < 10_400; i += 10 {
			addQueued(t, s, "a", i, i+10)
			mu.Lock()
			added.Add(10)
			mu.Unlock()
		}
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if after != nil {
			checkForgotten(t, after, int(addedAtCut.Load()), wasForgotten)
		}
		mu.Unlock()
	}
}

func checkForgotten(t *testing.T, fs *vfs.MemFS, added int, forgotten bool) {
	t.Helper()
	s := mustOpen(t, "db", Options{FS: fs})
	defer s.Close()
	wantNoFindings(t, s)
	for len(s.stillRetired(t)) > 0 {
		time.Sleep(time.Millisecond)
	}
	wantSound(t, s)
	if fresh := addQueued(t, s, "b", 10_000, 10_000+added); fresh != 0 {
		t.Errorf("got %d of %d added URLs new; want none", fresh, added)
	}
	st, err := s.Stats(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	old := addQueued(t, s, "b", 0, 6000)
	if got, want := len(takeSome(t, s, 20_000)), int(st.Held-st.InFlight)+old; got != want {
		t.Errorf("got %d URLs to take; want %d", got, want)
	}
	switch {
	case old == 6000:
	case old == 0 && !forgotten && added == 0 && st.Held == 6000: // not begun
	default:
		t.Errorf("got %d of 6,000 URLs new again after %d adds, forgotten %v", old, added, forgotten)
	}
}

// TestForgetManyKeysIsManySteps: keys that are named go some at a time, and removing
// the first URLs of a queue looks for the next one once a step.
func TestForgetManyKeysIsManySteps(t *testing.T) {
	const n = 10_000
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	addQueued(t, s, "a", 0, n)
	before := s.accepted.Load()
	if got := forget(t, s, store.Selection{Keys: testKeys(0, n-1)}); got != n-1 {
		t.Errorf("got %d forgotten; want %d", got, n-1)
	}
	if steps := s.accepted.Load() - before; steps < n/mostRows {
		t.Errorf("got %d steps; want at least %d", steps, n/mostRows)
	}
	if l := takeSome(t, s, 2); len(l) != 1 || l[0].Key != testKey(n-1) {
		t.Errorf("got %v; want the last URL", l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Forget(ctx, store.Selection{Keys: testKeys(0, n)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want the end of the context", err)
	}
	wantSound(t, s)
}
