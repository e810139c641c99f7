package pebblestore

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
)

// TestMergedSteps: of steps that were carried out as one batch each gets its own
// answers, and of those that share a key, one.
func TestMergedSteps(t *testing.T) {
	for _, opt := range []Options{{}, {IndexBytes: -1}, {Exact: true}} {
		disk := &stalledDisk{}
		opt.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.wait))
		s := mustOpen(t, "db", opt)
		see(t, s, "", testKeys(0, 5))
		groups := s.groups.Load()
		release := disk.stall()
		steps := startSees(t, s)
		release()
		steps.wg.Wait()
		if n := s.groups.Load() - groups; n != inFlight+1 {
			t.Errorf("%v: got %d groups; want those that wait for the disk and the merged one", opt.testName(), n)
		}
		steps.check(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

const mergedSteps = 40

// seeSteps are steps that wait for one disk: step i has the keys i to i+9, the
// first of them twice.
type seeSteps struct {
	wg    sync.WaitGroup
	keys  [mergedSteps][]store.Key
	fresh [mergedSteps][]bool
}

// startSees starts the first step alone and others that fill the flights, then the
// rest, and returns when all wait.
func startSees(t *testing.T, s *Store) *seeSteps {
	steps := &seeSteps{}
	accepted := s.accepted.Load()
	for i := range steps.keys {
		keys := append(testKeys(i, i+10), testKeys(i, i+1)...)
		fresh := make([]bool, len(keys))
		steps.keys[i], steps.fresh[i] = keys, fresh
		steps.wg.Go(func() {
			if err := s.See(context.Background(), "", keys, fresh, store.SeeOptions{}); err != nil {
				t.Error(err)
			}
		})
		for i == 0 && s.accepted.Load() == accepted {
			runtime.Gosched()
		}
		if i == 0 {
			fillFlights(t, s, &steps.wg, inFlight-1)
		}
	}
	for len(s.queue) < mergedSteps-2 { // and one in the committer's hand
		runtime.Gosched()
	}
	return steps
}

func (s *seeSteps) check(t *testing.T) {
	news := map[store.Key]int{}
	for i, keys := range s.keys {
		for j, k := range keys {
			if s.fresh[i][j] {
				news[k]++
			}
		}
		if s.fresh[i][10] {
			t.Errorf("step %d: its first key was new again at its end", i)
		}
	}
	for i, k := range testKeys(0, mergedSteps+9) {
		want := 1
		if i < 5 {
			want = 0 // seen before
		}
		if news[k] != want {
			t.Errorf("key %d was new %d times; want %d", i, news[k], want)
		}
	}
}
