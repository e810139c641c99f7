package pebblestore

import (
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
)

// fakeCompacter stands for Pebble: it wants some compactions, and may run so
// many at once.
type fakeCompacter struct {
	*compactions
	wanted, started, allowed int
}

func (f *fakeCompacter) GetAllowedWithoutPermission() int { return f.allowed }
func (f *fakeCompacter) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return f.wanted > 0, pebble.WaitingCompaction{}
}
func (f *fakeCompacter) Schedule(pebble.CompactionGrantHandle) bool {
	f.wanted--
	f.started++
	return true
}

func TestCompactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := make(chan struct{})
		f := &fakeCompacter{compactions: newCompactions(dead), wanted: 4, allowed: 2}
		f.Register(2, f)
		started := func(when string, want int) {
			t.Helper()
			if synctest.Wait(); f.started != want {
				t.Errorf("%s: %d started; want %d", when, f.started, want)
			}
		}
		f.UpdateGetAllowedWithoutPermission()
		if ok, _ := f.TrySchedule(); ok {
			t.Error("a compaction may run before begin")
		}
		started("before begin", 0)
		f.begin()
		started("at begin", 2)
		if ok, _ := f.TrySchedule(); ok {
			t.Error("a third compaction may run; want two")
		}
		f.Done()
		started("when one is done", 3)
		f.allowed = 3
		f.UpdateGetAllowedWithoutPermission()
		started("when more are allowed", 4)
		f.wanted = 2
		f.Done()
		started("when another is done", 5)
		close(dead)
		f.Done()
		started("after the store failed", 5)
		f.Unregister()
		f.Done()
		started("after the end", 5)
	})
}
