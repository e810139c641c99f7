package frontier

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/firstseen/firstseen/frontier/internal/waitline"
)

// room holds the callers that wait with the same request, but for its Max. While it
// holds any, one goroutine takes for all of them together, and sleeps until something
// changed in their crawl, or until the time that the store named. So a change costs
// one step of the store, however many callers wait.
type room struct {
	f    *Frontier
	req  LeaseRequest // its Max is 0
	line waitline.Line[*Lease]

	callers int // guarded by rooms.mu
	// With the line locked:
	changed chan struct{} // closed and replaced when something changed
}

// Serve begins to serve the line.
func (r *room) Serve() { r.f.working.Go(r.serve) }

// Joined wakes the goroutine for a caller that waits for the end. For other callers there is still
// nothing to hand out.
func (r *room) Joined(ends bool) {
	if ends {
		r.signal(true)
	}
}

// Left wakes the goroutine, which must end when no caller waits.
func (r *room) Left(int) { r.signal(true) }

func (r *room) signal(serving bool) {
	if serving {
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// serve serves the line until no caller waits in it.
func (r *room) serve() {
	for {
		var changed <-chan struct{} // closed at the next change
		var ends bool
		req := r.req
		req.Max = r.line.Begin(func(anyEnds bool) { changed, ends = r.changed, anyEnds })
		if req.Max == 0 {
			return
		}
		leases, next, err := r.f.take(context.Background(), req)
		switch {
		case err != nil:
			r.line.Fail(err)
		case len(leases) > 0:
			r.f.giveBack(r.line.Hand(leases))
		default:
			if ends {
				r.finish()
			}
			r.f.sleep(next, changed)
		}
	}
}

// finish ends the waiting of the callers that wait for the end, if nothing is held.
func (r *room) finish() {
	stats, err := r.f.Stats(context.Background(), r.req.Crawl)
	if err == nil && stats.Held > 0 {
		return
	}
	r.line.Finish(cmp.Or(err, waitline.ErrFinished))
}

// giveBack releases leases whose callers went away.
func (f *Frontier) giveBack(left []*Lease) {
	if len(left) == 0 {
		return
	}
	settlements := make([]Settlement, len(left))
	for i, l := range left {
		settlements[i] = Settlement{Lease: l, Outcome: Release}
	}
	// If this fails the leases run out by themselves.
	_, _ = f.settle(context.Background(), settlements)
}

// clockCheck is how often a goroutine that waits for a time looks whether the clock was
// set since.
const clockCheck = 5 * time.Second

// pollEvery is how long goroutines that wait go at most without asking a store that other
// processes write to: this process gets no notice of their changes.
const pollEvery = time.Second

// sleep waits for a change, for the given time if it isn't zero, for f.poll, or
// for Close. It also ends when the clock was set: the time may be another then.
func (f *Frontier) sleep(until time.Time, changed <-chan struct{}) {
	began, clock := time.Now(), f.clock()
	wait := max(until.Sub(clock), time.Millisecond)
	if f.poll > 0 && (until.IsZero() || f.poll < wait) {
		wait = f.poll
	}
	var due <-chan time.Time
	var t *time.Timer
	if !until.IsZero() || f.poll > 0 {
		t = time.NewTimer(min(wait, clockCheck))
		defer t.Stop()
		due = t.C
	}
	for {
		select {
		case <-due:
			passed := time.Since(began)
			if passed < wait && !wasSet(clock, f.clock(), passed) {
				t.Reset(min(wait-passed, clockCheck))
				continue
			}
		case <-changed:
		case <-f.closing:
		}
		return
	}
}

// wasSet reports whether a clock was set between two readings: whether they are not as
// far apart as the time that passed, by a second or more.
func wasSet(from, to time.Time, passed time.Duration) bool {
	off := to.Round(0).Sub(from.Round(0)) - passed
	return off <= -time.Second || off >= time.Second
}

// rooms are the rooms with callers in them, by crawl ("*" is any) and request. The
// zero value is empty.
type rooms struct {
	mu     sync.Mutex
	byName map[string]map[LeaseRequest]*room
}

// join returns the room for a request; leave must follow.
func (rs *rooms) join(f *Frontier, req LeaseRequest) *room {
	req.Max = 0
	req.Crawl = cmp.Or(req.Crawl, f.opt.Crawl)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.byName[req.Crawl][req]
	if r == nil {
		r = &room{f: f, req: req, changed: make(chan struct{})}
		r.line.Alone = req.MaxQueues > 0 // the bound holds for each caller
		rs.put(r)
	}
	r.callers++
	return r
}

func (rs *rooms) put(r *room) {
	if rs.byName == nil {
		rs.byName = make(map[string]map[LeaseRequest]*room)
	}
	if rs.byName[r.req.Crawl] == nil {
		rs.byName[r.req.Crawl] = make(map[LeaseRequest]*room, 1)
	}
	rs.byName[r.req.Crawl][r.req] = r
}

func (rs *rooms) leave(r *room) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.callers--; r.callers > 0 {
		return
	}
	delete(rs.byName[r.req.Crawl], r.req)
	if len(rs.byName[r.req.Crawl]) == 0 {
		delete(rs.byName, r.req.Crawl)
	}
}

// wake wakes the rooms that wait for a crawl after it changed; all of them with "*".
func (rs *rooms) wake(crawl string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.byName) == 0 {
		return
	}
	if crawl == "*" {
		for _, of := range rs.byName {
			wakeAll(of)
		}
		return
	}
	wakeAll(rs.byName["*"])
	wakeAll(rs.byName[crawl])
}

func wakeAll(of map[LeaseRequest]*room) {
	for _, r := range of {
		r.line.Locked(r.signal)
	}
}
