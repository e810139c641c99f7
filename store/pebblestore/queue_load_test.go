package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// TestStepsBeforeQueuesAreLoaded does the same random steps in two stores with equal contents: one has loaded all of its queues, the
// other those with leases and one more. All answers are the same, and so are the queues once they are loaded.
func TestStepsBeforeQueuesAreLoaded(t *testing.T) {
	for seed := range tortureSize(10, 1000) {
		l := newLoading(t, uint64(seed))
		for range 60 {
			l.step()
		}
		l.loaded()
	}
}

// loading is a store with and one without all of its queues, and the leases of both.
type loading struct {
	t      *testing.T
	r      *rand.Rand
	clock  *stepClock
	both   [2]*Store
	hold   chan struct{}
	leases []store.Entry
	keys   int
}

const loadingQueues = 40

func (l *loading) queue() string { return fmt.Sprintf("q%d", l.r.IntN(loadingQueues)) }

func (l *loading) items(n int) (items []store.Item) {
	for range n {
		k := l.keys
		if l.r.IntN(4) == 0 {
			k = l.r.IntN(l.keys + 1)
		}
		l.keys = max(l.keys, k+1)
		items = append(items, store.Item{Key: testKey(k), Queue: l.queue(), URL: fmt.Sprint("u", k), Force: l.r.IntN(2) == 0, Priority: uint8(l.r.IntN(8))})
	}
	return items
}

func newLoading(t *testing.T, seed uint64) *loading {
	l := &loading{t: t, r: newRand(seed), clock: newStepClock(), hold: make(chan struct{})}
	fs := vfs.NewCrashableMem()
	opt := Options{FS: fs, IndexBytes: -1, Clock: l.clock.Now, KeepURLs: seed%2 == 0, tuning: tuning{journalFrom: 1 + int(seed%3)*5, keptStates: 60, keptPlaces: 30}}
	s := mustOpen(t, "db", opt)
	l.both = [2]*Store{s, s}
	for i := range loadingQueues {
		change := store.QueueChange{Delay: new(time.Duration(l.r.IntN(3)) * time.Second)}
		if i%4 == 0 {
			change.Group, change.Delay = new("server"), new(time.Hour)
		}
		if err := s.Configure(t.Context(), "", fmt.Sprint("q", i), change); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		if _, err := s.Add(t.Context(), "", l.items(1+l.r.IntN(20)), store.AddOptions{}); err != nil {
			t.Fatal(err)
		}
		taken, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 8, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		l.leases = append(l.leases, taken.Leases...)
		for len(l.leases) > 5 {
			l.settle(s)
		}
		l.clock.step(3 * time.Second)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range l.both {
		if opt.FS = fs.CrashClone(vfs.CrashCloneCfg{}); i == 1 {
			opt.openQueues, opt.holdFill = 1, l.hold
		}
		l.both[i] = mustOpen(t, "db", opt)
		t.Cleanup(func() { _ = l.both[i].Close() })
	}
	return l
}

// same does a step in both stores, whose answers must be equal.
func (l *loading) same(what string, do func(s *Store) (any, error)) {
	l.t.Helper()
	var got [2]any
	for i, s := range l.both {
		answer, err := do(s)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			l.t.Fatalf("%s: %v", what, err)
		}
		got[i] = []any{answer, err != nil}
	}
	if !reflect.DeepEqual(got[0], got[1]) {
		l.t.Fatalf("%s: got %+v from a store that has not loaded its queues; want %+v", what, got[1], got[0])
	}
}

func (l *loading) settle(s *Store) {
	if len(l.leases) == 0 {
		return
	}
	i := l.r.IntN(len(l.leases))
	lease := l.leases[i]
	l.leases = slices.Delete(l.leases, i, i+1)
	outcome := []store.Outcome{store.Complete, store.Requeue, store.Drop}[l.r.IntN(3)]
	settle := func(s *Store) (any, error) {
		return s.Settle(l.t.Context(), "", []store.Settlement{{Key: lease.Key, Token: lease.Token, Outcome: outcome}})
	}
	if l.both[0] != l.both[1] {
		l.same("settle", settle)
	} else if _, err := settle(s); err != nil {
		l.t.Fatal(err)
	}
}

func (l *loading) step() {
	ctx, queue := l.t.Context(), l.queue()
	switch l.r.IntN(9) {
	case 0, 1:
		items := l.items(1 + l.r.IntN(4))
		l.same("add", func(s *Store) (any, error) { return s.Add(ctx, "", items, store.AddOptions{}) })
	case 2, 3:
		l.settle(nil)
	case 4:
		change := store.QueueChange{Weight: new(uint8(1 + l.r.IntN(3))), MustExist: true}
		l.same("configure", func(s *Store) (any, error) { return nil, s.Configure(ctx, "", queue, change) })
	case 5:
		l.same("info", func(s *Store) (any, error) {
			info, err := s.QueueInfo(ctx, "", queue)
			return l.known(info), err
		})
	case 6:
		l.same("list", func(s *Store) (any, error) { return l.listed(s), nil })
		l.same("stats", func(s *Store) (any, error) { return s.Stats(ctx, "") })
	case 7:
		if l.r.IntN(5) == 0 {
			l.same("forget", func(s *Store) (any, error) { return s.Forget(ctx, store.Selection{Queue: queue}) })
		}
	case 8:
		info, err := l.both[0].QueueInfo(ctx, "", queue)
		if err == nil && info.Group == "" && !info.Next.IsZero() && !info.Next.After(l.clock.Now()) { // or it would wait
			l.same("take", func(s *Store) (any, error) {
				taken, err := s.Take(ctx, store.TakeRequest{Queue: queue, Lease: time.Hour})
				return taken.Leases, err
			})
		}
	}
	l.clock.step(time.Duration(l.r.IntN(1000)) * time.Millisecond)
}

// known returns what is known of a queue before all are loaded: not when the gate of its group opens.
func (l *loading) known(q store.QueueInfo) store.QueueInfo {
	if q.Group != "" && !async.Closed(l.hold) {
		q.NotBefore, q.Next, q.GroupNotBefore, q.GroupInFlight = time.Time{}, time.Time{}, time.Time{}, 0
	}
	return q
}

func (l *loading) listed(s *Store) (list []store.QueueInfo) {
	for q, err := range s.Queues(l.t.Context(), "", "") {
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, l.known(q))
	}
	return list
}

// loaded loads the queues, and takes all URLs.
func (l *loading) loaded() {
	close(l.hold)
	l.both[1].awaitQueues()
	l.same("list", func(s *Store) (any, error) { return l.listed(s), nil })
	l.same("take all", func(s *Store) (any, error) {
		var keys []store.Key
		for at := l.clock.Now(); ; l.clock.step(10 * time.Minute) {
			taken, err := s.Take(l.t.Context(), store.TakeRequest{MaxURLs: 1000, MaxPerQueue: 1000, Lease: 1000 * time.Hour})
			if err != nil || l.clock.Now().Sub(at) > 12*time.Hour {
				slices.SortFunc(keys, store.Key.Compare)
				l.clock.set(at)
				return keys, cmp.Or(err)
			}
			for _, lease := range taken.Leases {
				keys = append(keys, lease.Key)
			}
		}
	})
	for _, s := range l.both {
		wantSound(l.t, s)
	}
}

// awaitQueues waits until all queues are loaded, or the store has failed, and until the group in progress has ended: it has the
// time at which it began, and the clocks of tests are set between steps.
func (s *Store) awaitQueues() {
	for loading := true; loading && !s.isDead(); runtime.Gosched() {
		s.mu.RLock()
		loading = s.sched.Filing()
		s.mu.RUnlock()
	}
	_ = s.read(context.Background(), func(*txn) error { return nil }) // a store that failed says so to its users
}

// servedGroup opens a store of which the queues a and b, of one group, have urls each, and b was served last. It loads b once hold is closed.
func servedGroup(t *testing.T, urls int) (s *Store, clock *stepClock, hold chan struct{}) {
	t.Helper()
	clock, hold = newStepClock(), make(chan struct{})
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now}
	s = mustOpen(t, "db", opt)
	for i, queue := range []string{"a", "b"} {
		if err := s.Configure(t.Context(), "", queue, store.QueueChange{Group: new("server"), Delay: new(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		addQueued(t, s, queue, 10*i, 10*i+urls)
	}
	taken, err := s.Take(t.Context(), store.TakeRequest{Queue: "b", Lease: time.Hour})
	if err != nil || len(taken.Leases) != 1 {
		t.Fatal(taken, err)
	}
	done := []store.Settlement{{Key: taken.Leases[0].Key, Token: taken.Leases[0].Token}}
	if _, err := s.Settle(t.Context(), "", done); err != nil {
		t.Fatal(err)
	}
	opt.openQueues, opt.holdFill = 1, hold
	return reopen(t, s, "db", opt), clock, hold
}

// TestGroupWaitsUntilQueuesAreLoaded: of two queues of a group, the one that was served last has not been loaded.
func TestGroupWaitsUntilQueuesAreLoaded(t *testing.T) {
	s, clock, hold := servedGroup(t, 2)
	defer s.Close()
	again := make(chan store.Taken)
	go func() {
		taken, _ := s.Take(context.Background(), store.TakeRequest{Queue: "a"})
		again <- taken
	}()
	for range 3 {
		if _, err := s.QueueInfo(t.Context(), "", "a"); err != nil {
			t.Fatal(err)
		}
	}
	close(hold)
	if got, next := <-again, clock.Now().Add(time.Hour); len(got.Leases) > 0 || !got.Next.Equal(next) {
		t.Errorf("got %+v; want nothing before %v", got, next)
	}
}

// TestGateOfQueueThatAStepLoaded: of two queues of a group, the one served last is idle, and a step of the group of steps that loads it reads it before.
func TestGateOfQueueThatAStepLoaded(t *testing.T) {
	s, clock, hold := servedGroup(t, 1)
	defer s.Close()
	// A step holds up the committer while QueueInfo and loadRest come into the queue.
	entered, goOn := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.submit(t.Context(), 1, func(tx *txn) error { close(entered); <-goOn; return nil })
	}()
	<-entered
	info := make(chan error)
	go func() { _, err := s.QueueInfo(t.Context(), "", "b"); info <- err }()
	for len(s.queue) < 1 {
		runtime.Gosched()
	}
	close(hold)
	for len(s.queue) < 2 {
		runtime.Gosched()
	}
	close(goOn)
	if err := <-info; err != nil {
		t.Fatal(err)
	}
	s.awaitQueues()
	got, err := s.Take(t.Context(), store.TakeRequest{Queue: "a"})
	if next := clock.Now().Add(time.Hour); err != nil || len(got.Leases) > 0 || !got.Next.Equal(next) {
		t.Errorf("got %+v, %v; want nothing before %v", got, err, next)
	}
}

// TestGroupsOrderAfterRestart: members of a group are served in order of name after a restart, however often each was filed while others were loaded.
func TestGroupsOrderAfterRestart(t *testing.T) {
	clock, hold := newStepClock(), make(chan struct{})
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now}
	s := mustOpen(t, "db", opt)
	for i, queue := range []string{"a", "b", "c", "d"} {
		if err := s.Configure(t.Context(), "", queue, store.QueueChange{Group: new("server"), Delay: new(-time.Second)}); err != nil {
			t.Fatal(err)
		}
		addQueued(t, s, queue, 10*i, 10*i+1)
	}
	opt.openQueues, opt.holdFill = 2, hold
	s = reopen(t, s, "db", opt)
	defer s.Close()
	for i := range 100 {
		addQueued(t, s, "a", 100+i, 101+i)
	}
	close(hold)
	s.awaitQueues()
	got, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 4})
	if err != nil || len(got.Leases) != 4 {
		t.Fatal(got, err)
	}
	for i, want := range []string{"a", "b", "c", "d"} {
		if got.Leases[i].Queue != want {
			t.Errorf("got queue %q as number %d; want %q", got.Leases[i].Queue, i, want)
		}
	}
}

// TestTakeEndsStartPause: a Take that finds nothing in the queues that Open loaded does not wait for the others longer than for their rows.
func TestTakeEndsStartPause(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, "db", Options{FS: fs})
	items := make([]store.Item, 100)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: fmt.Sprintf("q%03d", i), URL: "u"}
		if i < 50 {
			items[i].Due = time.Now().Add(time.Hour)
		}
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	least := time.Duration(math.MaxInt64)
	for range 3 { // the machine may be busy
		s = reopen(t, s, "db", Options{FS: fs, tuning: tuning{openQueues: 10}})
		began := time.Now()
		taken, err := s.Take(t.Context(), store.TakeRequest{Lease: time.Hour})
		if err != nil || len(taken.Leases) != 1 {
			t.Fatal(taken, err)
		}
		least = min(least, time.Since(began))
	}
	defer s.Close()
	if least >= startPause {
		t.Errorf("got a lease after %v; want it before the pause of %v ends", least, startPause)
	}
}
