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
	ended   bool
	dead    <-chan struct{} // closed when the store has failed

	granting sync.WaitGroup
}

func newCompactions(dead <-chan struct{}) *compactions { return &compactions{dead: dead} }

// begin lets compactions run.
func (c *compactions) begin() {
	c.mu.Lock()
	c.begun = true
	c.mu.Unlock()
	c.poked()
}

// poked starts the compactions that had to wait. It may be called with Pebble's locks held.
func (c *compactions) poked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.granting.Go(c.grant)
	}
}

// grant starts compactions while one waits and there is room for it.
func (c *compactions) grant() {
	for {
		if waiting, _ := c.db.GetWaitingCompaction(); !waiting {
			return
		}
		if ok, _ := c.TrySchedule(); !ok {
			return
		}
		if !c.db.Schedule(c) {
			c.done()
			return
		}
	}
}

func (c *compactions) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister implements pebble.CompactionScheduler: nothing is started when it
// has returned.
func (c *compactions) Unregister() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.granting.Wait()
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun || c.ended || async.Closed(c.dead) || c.running >= c.db.GetAllowedWithoutPermission() {
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
	c.done()
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
