package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// stalledDisk is a disk whose log syncs wait.
type stalledDisk struct {
	mu   sync.Mutex
	gate chan struct{}
}

func (d *stalledDisk) stall() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	gate := make(chan struct{})
	d.gate = gate
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.gate == gate {
			close(gate)
			d.gate = nil
		}
	}
}

func (d *stalledDisk) wait(op errorfs.Op) error {
	if op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData && op.Kind != errorfs.OpFileSyncTo {
		return nil
	}
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return nil
}

// fillFlights starts n steps on a stalled disk, each a group of its own.
func fillFlights(t *testing.T, s *Store, wg *sync.WaitGroup, n int) {
	t.Helper()
	from := s.accepted.Load()
	for i := range int64(n) {
		wg.Go(func() {
			keys := testKeys(int(1_000_000+i), int(1_000_001+i))
			if err := s.See(context.Background(), "", keys, make([]bool, 1), store.SeeOptions{}); err != nil {
				t.Error(err)
			}
		})
		for s.accepted.Load() <= from+i {
			runtime.Gosched()
		}
	}
}

func openStalled(t *testing.T, opt Options) (*Store, *stalledDisk) {
	disk := &stalledDisk{}
	opt.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.wait))
	return mustOpen(t, "db", opt), disk
}

// TestDuplicateWaitsForDisk checks that no caller gets "duplicate" while the write of the key waits
// for the disk.
func TestDuplicateWaitsForDisk(t *testing.T) {
	s, disk := openStalled(t, Options{})
	defer s.Close()
	release := disk.stall()
	defer release() // or Close waits for the disk
	answers := make(chan int, 2)
	for range 2 {
		go func() { answers <- see(t, s, "", testKeys(0, 1)) }()
	}
	select {
	case n := <-answers:
		t.Fatalf("got %d new before the disk answered", n)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if n := <-answers + <-answers; n != 1 {
		t.Fatalf("got %d new; want 1", n)
	}
}

// onePart carries out the next part of a step, of so many rows, as a store does that stops after it.
func onePart(s *Store, apply func(*txn) error, rows int) (err error) {
	failed := s.do(context.Background(), 1, func(tx *txn) error {
		tx.left.rows = rows
		if err = apply(tx); unfinished(err) {
			return nil
		}
		return err
	})

	return cmp.Or(failed, err)
}

// slowParts returns a clock by which each part takes twice as long as it is to: the next may look at half as many rows, however fast
// the machine is.
func slowParts() func() time.Duration {
	var spent time.Duration
	return func() time.Duration {
		spent += 2 * partTime
		return spent
	}
}

// TestContextBeforeAndAfter: a step that waits for its turn is withdrawn with
// its context, and leaves nothing; one that is being written is carried out.
func TestContextBeforeAndAfter(t *testing.T) {
	s, disk := openStalled(t, Options{tuning: tuning{backlog: 1}})
	defer s.Close()
	release := disk.stall()
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error, 1)
	var fresh [1]bool
	go func() { first <- s.See(ctx, "", testKeys(0, 1), fresh[:], store.SeeOptions{}) }()
	for s.accepted.Load() == 0 {
		runtime.Gosched() // the first step is on its way
	}
	var before sync.WaitGroup
	fillFlights(t, s, &before, inFlight-1)
	defer before.Wait()
	rest := make(chan error, 3)
	for i := range 3 { // one in the committer's hand, one in the queue, one outside of it
		go func() {
			rest <- s.See(ctx, "", testKeys(1+i, 2+i), make([]bool, 1), store.SeeOptions{})
		}()
	}
	cancel()
	for range 3 {
		if err := <-rest; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want Canceled", err)
		}
	}
	release()
	if err := <-first; err != nil || !fresh[0] {
		t.Errorf("got %v, %v; want the true result of a step that was accepted", fresh[0], err)
	}
	if n := see(t, s, "", testKeys(0, 4)); n != 3 {
		t.Errorf("got %d new; want the three that were withdrawn", n)
	}
}

// TestWithdrawnStepsRace withdraws steps while others take their memory from the pools. The race detector
// reports errors.
func TestWithdrawnStepsRace(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for i := range 500 {
				ctx, cancel := context.WithCancel(context.Background())
				go cancel()
				keys := testKeys(caller*1000+i, caller*1000+i+3)
				if err := s.See(ctx, "", keys, make([]bool, 3), store.SeeOptions{}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if i%8 == 0 {
					see(t, s, fmt.Sprint("crawl ", i), keys)
				}
			}
		})
	}
	wg.Wait()
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, statsErr := s.Stats(ctx, "")
	_, forgetErr := s.Forget(ctx, store.Selection{})
	_, verifyErr := s.Verify(ctx)
	for name, err := range map[string]error{
		"See": s.See(ctx, "", testKeys(0, 1), make([]bool, 1), store.SeeOptions{}), "See none": s.See(ctx, "", nil, nil, store.SeeOptions{}),
		"Stats": statsErr, "Forget": forgetErr, "Verify": verifyErr, "Close": s.Close(),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: got %v; want ErrClosed", name, err)
		}
	}
}

// TestStepIsTheCallers checks that a caller can use its slices again when its call has returned, also
// from a store that failed while the committer worked on the step. The race detector reports errors.
func TestStepIsTheCallers(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	ctx := context.Background()
	if _, err := s.Add(ctx, "", []store.Item{{Key: testKey(3), Queue: "q", URL: "u"}}, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	items := []store.Item{{Key: testKey(1), Queue: "q", URL: "u", Meta: []byte("meta")}}
	change := everyChange()
	list := []store.Settlement{{Key: testKey(2), Create: true, Queue: "q", URL: "u", Meta: []byte("meta"), Priority: new(uint8), QueueChange: new(everyChange())}}
	keys := testKeys(3, 4)
	release, failed := behindHeldStep(s, []func() error{
		func() error {
			_, err := s.Add(ctx, "", items, store.AddOptions{})
			items[0].Meta[0], items[0].URL = 'x', "other"
			return err
		},
		func() error {
			_, err := s.Settle(ctx, "", list)
			list[0].Meta[0], list[0].URL, *list[0].Priority = 'x', "other", 3
			overwrite(list[0].QueueChange)
			return err
		},
		func() error {
			err := s.Configure(ctx, "", "q", change)
			overwrite(&change)
			return err
		},
		func() error { _, err := storetest.Lookup(ctx, s, "", testKey(3)); return err },
		func() error { _, err := s.QueueInfo(ctx, "", "q"); return err },
		func() error {
			_, err := s.Forget(ctx, store.Selection{Keys: keys})
			clear(keys)
			return err
		},
	})
	groups := s.groups.Load()
	s.die(errors.New("the disk is broken"))
	close(release)
	wantFailed(t, failed)
	if s.groups.Load() == groups {
		t.Error("the calls ended before their group did")
	}
	if err := s.Close(); !errors.Is(err, store.ErrFailed) {
		t.Errorf("got %v at Close; want ErrFailed", err)
	}
}

// behindHeldStep makes calls, in their order, in one group with a step that the
// committer is at until it is released.
func behindHeldStep(s *Store, calls []func() error) (release chan struct{}, failed chan error) {
	first, second := newHeldStep(), newHeldStep()
	go first.run(s)
	<-first.entered
	failed = make(chan error, len(calls))
	for i, call := range append([]func() error{func() error { second.run(s); return nil }}, calls...) {
		go func() {
			if err := call(); i > 0 {
				failed <- err
			}
		}()
		for len(s.queue) < 1+i {
			runtime.Gosched()
		}
	}
	close(first.release)
	<-second.entered
	return second.release, failed
}

func wantFailed(t *testing.T, failed chan error) {
	t.Helper()
	for range cap(failed) {
		if err := <-failed; !errors.Is(err, store.ErrFailed) {
			t.Errorf("got %v; want ErrFailed", err)
		}
	}
}

// everyChange changes all settings of a queue.
func everyChange() store.QueueChange {
	return store.QueueChange{
		Delay: new(time.Duration), MaxInFlight: new(1), BlockedUntil: new(time.Time), Limit: new(int64(9)),
		Weight: new(uint8(1)), Paused: new(bool), NotBefore: new(time.Time),
	}
}

// overwrite changes all that ch points to, and ch.
func overwrite(ch *store.QueueChange) {
	*ch.Delay, *ch.MaxInFlight, *ch.BlockedUntil, *ch.Limit = time.Hour, 7, time.Now(), 7
	*ch.Weight, *ch.Paused, *ch.NotBefore = 7, true, time.Now()
	*ch = store.QueueChange{}
}

// heldStep is a step that the committer is at until it is released.
type heldStep struct{ entered, release chan struct{} }

func newHeldStep() heldStep { return heldStep{make(chan struct{}), make(chan struct{})} }

func (h heldStep) run(s *Store) {
	_ = s.read(context.Background(), func(*txn) error {
		close(h.entered)
		<-h.release
		return nil
	})

}

// TestNothingAfterALostGroup: when a group cannot be written, no later one is: its rows
// would be those of a state that is on no disk.
func TestNothingAfterALostGroup(t *testing.T) {
	for range 20 {
		fs := vfs.NewMem()
		s := mustOpen(t, "db", Options{FS: fs, tuning: tuning{groupKeys: 1}})
		see(t, s, "", testKeys(0, 10))
		first := newHeldStep()
		go first.run(s)
		<-first.entered
		var calls sync.WaitGroup
		call := func(lo int, bad error) {
			waits := len(s.queue)
			calls.Go(func() {
				_ = s.read(context.Background(), func(tx *txn) error {
					k := testKey(lo)
					_, err := tx.recordSorted(tx.crawl(store.DefaultCrawl, true), []store.Key{k}, []uint32{0}, make([]bool, 1))
					tx.fail(err)
					tx.fail(bad)
					return nil
				})
			})
			for len(s.queue) == waits {
				runtime.Gosched()
			}
		}
		call(10, errors.New("a row that cannot be read"))
		for i := range 20 {
			call(11+i, nil)
		}
		close(first.release)
		calls.Wait()
		if err := s.Close(); !errors.Is(err, store.ErrFailed) {
			t.Fatalf("got %v; want ErrFailed", err)
		}
		s = mustOpen(t, "db", Options{FS: fs})
		wantSeen(t, s, "", 10)
		wantSound(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
