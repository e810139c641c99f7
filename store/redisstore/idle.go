package redisstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
)

// idleFor is how long the answer "nothing is ready" holds for other callers that ask the same. What this daemon
// changes ends it; what other daemons change is found that much later. So an idle daemon asks each shard twice a second,
// however many callers wait.
const idleFor = 500 * time.Millisecond

// idle remembers that a request found nothing, so that many waiting callers cost the servers as much as one.
type idle struct {
	changes atomic.Uint64 // made by this daemon

	mu    sync.Mutex
	known map[store.TakeRequest]nothing
}

type nothing struct {
	changes     uint64
	until, next time.Time
}

// ask returns the empty answer that a request had a moment ago.
func (d *idle) ask(req store.TakeRequest) (next time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.known[req]
	return n.next, ok && n.changes == d.changes.Load() && time.Now().Before(n.until)
}

// note remembers that a request found nothing, which was asked when so many changes were made.
func (d *idle) note(req store.TakeRequest, changes uint64, next time.Time) {
	until := time.Now().Add(idleFor)
	if !next.IsZero() && next.Before(until) {
		until = next
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= 1000 {
		d.known = map[store.TakeRequest]nothing{}
	}
	d.known[req] = nothing{changes, until, next}
}
