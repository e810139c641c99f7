package pebblestore

import (
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/async"
)

// compactions lets Pebble run as many compactions at once as it wants to, as its
// own scheduler does, but none before begin: pebble.Open waits for the
// compaction that its flush of the log sets off, a second or more, and filling
// the index wants the processors and the disk for itself.
type compactions struct {
	mu      sync.Mutex // taken after Pebble's locks
	db      pebble.DBForCompaction
	running int
	begun   bool
	dead    <-chan struct{} // closed when the store has failed

	poke     chan struct{} // there may be room for another compaction
	stop     chan struct{} // closed by Unregister
	granting sync.WaitGroup
}

func newCompactions(dead <-chan struct{}) *compactions {
	return &compactions{dead: dead, poke: make(chan struct{}, 1), stop: make(chan struct{})}
}

// begin lets compactions run.
func (c *compactions) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	c.granting.Go(c.grants)
	c.poked()
}

// poked wakes grants. It may be called with any lock held.
func (c *compactions) poked() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// grants starts the compactions that had to wait.
func (c *compactions) grants() {
	for {
		select {
		case <-c.stop:
			return
		case <-c.poke:
		}
		for c.grant() {
		}
	}
}

// grant starts a compaction that waits, if there is one and room for it.
func (c *compactions) grant() bool {
	if waiting, _ := c.db.GetWaitingCompaction(); !waiting {
		return false
	}
	if ok, _ := c.TrySchedule(); !ok {
		return false
	}
	if c.db.Schedule(c) {
		return true
	}
	c.add(-1)
	return false
}

func (c *compactions) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running += n
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister implements pebble.CompactionScheduler: nothing is started when it
// has returned.
func (c *compactions) Unregister() {
	close(c.stop)
	c.granting.Wait()
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun || async.Closed(c.stop) || async.Closed(c.dead) || c.running >= c.db.GetAllowedWithoutPermission() {
		return false, nil
	}
	c.running++
	return true, c
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler: a
// flush may have brought more to do.
func (c *compactions) UpdateGetAllowedWithoutPermission() { c.poked() }

// Done implements pebble.CompactionGrantHandle.
func (c *compactions) Done() {
	c.add(-1)
	c.poked()
}

// Started implements pebble.CompactionGrantHandle.
func (*compactions) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle. A compaction calls it every 128
// keys, and yields the processor there. Otherwise it would keep the processor for 10 ms at a time,
// and callers would wait longer.
func (*compactions) MeasureCPU(pebble.CompactionGoroutineKind) { runtime.Gosched() }

// CumulativeStats implements pebble.CompactionGrantHandle.
func (*compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}
