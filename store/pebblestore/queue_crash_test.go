package pebblestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// TestQueuePowerCuts runs random histories of all operations, cuts the power at
// random writes, and compares the store with the model: it must be as after the last answered step, or
// after the step in progress. The history continues from there, now and then with the leases freed.
func TestQueuePowerCuts(t *testing.T) {
	const lives = 5
	n := tortureCount(t, 8, 3000)
	var steps int
	for seed := range n {
		l := newLife(t, uint64(seed))
		for range lives {
			steps += l.live()
		}
	}
	t.Logf("%d power cuts in %d steps", n*lives, steps)
}

// life is a store on a disk that loses power.
type life struct {
	t   *testing.T
	rng *rand.Rand
	h   *storetest.History
	env storetest.Env
	fs  *vfs.MemFS

	mu       sync.Mutex // guards answered, while the picture is taken too
	answered int64      // steps
	cut      atomic.Pointer[cut]
}

// cut is a disk as a power cut left it, and how many steps were answered then.
type cut struct {
	fs       *vfs.MemFS
	answered int64
}

func newLife(t *testing.T, seed uint64) *life {
	now := newStepClock()
	l := &life{t: t, rng: newRand(seed), fs: vfs.NewCrashableMem()}
	l.env = storetest.Env{Clock: now.Now, KeepURLs: seed%2 == 1}
	l.h = storetest.NewHistory(seed, l.env.KeepURLs, now.Now())
	l.h.MaxBytes, l.h.Groups = true, seed%3 != 0
	l.h.Clock = now.step
	return l
}

// live runs steps until the power is cut at a random write, and compares. It
// returns the number of steps.
func (l *life) live() int {
	l.cut.Store(nil)
	var writes atomic.Int64
	at, unsynced, rng := 1+l.rng.Int64N(500), []int{0, 50, 100}[l.rng.IntN(3)], newRand(l.rng.Uint64())
	disk := l.fs
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		// Of what isn't synced, half may be kept, block by block and name by name.
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) == at {
			l.mu.Lock() // or a step could be answered, and the next begun, before the cut is known of
			l.cut.Store(&cut{disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng}), l.answered})
			l.mu.Unlock()
		}
		return nil
	}))
	before, way := l.h.Mark(), waysToLookUp[l.rng.IntN(len(waysToLookUp))]
	way.FreeLeases = l.rng.IntN(3) == 0
	s := openSuite(l.t, l.env, fs, way)
	if way.FreeLeases {
		l.h.Free()
		l.answer()
	}
	if s.Identity() == (store.Identity{}) {
		if err := s.Prepare(l.t.Context(), store.Terms{Identity: testIdentity}); err != nil {
			l.fail(err)
		}
	}
	steps := 0
	for l.cut.Load() == nil {
		before = l.h.Mark()
		if err := l.h.Step(l.t.Context(), s); err != nil {
			l.fail(err)
		}
		l.answer()
		steps++
	}
	if err := s.Close(); err != nil {
		l.t.Fatal(err)
	}
	l.check(before)
	return steps
}

// answer counts a step that was answered.
func (l *life) answer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered++
}

// check compares the disk after the cut with the model after the last step, or before it if that step
// was not answered yet.
func (l *life) check(before storetest.Mark) {
	c := l.cut.Load()
	l.fs = c.fs
	s := openSuite(l.t, l.env, l.fs, waysToLookUp[l.rng.IntN(len(waysToLookUp))])
	err := l.h.Compare(l.t.Context(), s)
	open := c.answered < l.answered // the last step may be there or not
	if err != nil && open {
		l.h.Return(before)
		if second := l.h.Compare(l.t.Context(), s); second != nil {
			err = errors.Join(err, second)
		} else {
			err = nil
		}
	}
	if err == nil && open {
		err = l.h.Reassert(l.t.Context(), s)
	}
	if err != nil {
		l.fail(fmt.Errorf("after a power cut: %w", err))
	}
	if err := s.Close(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) fail(err error) {
	l.t.Helper()
	l.t.Fatalf("%v\nhistory:\n%s", err, l.h.Log())
}
