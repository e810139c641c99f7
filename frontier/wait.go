package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// Callers with equal lease requests wait together in a room. The simple way, where each caller asks the
// store after every change, costs a step of the store per caller and change, and with a thousand fetchers
// nearly all of them get nothing. So one goroutine per room leases for all callers in it, and sleeps until
// their crawl changes or one of its queues may be served.

// Next waits until a URL of [Options.Crawl] may be fetched and hands it out; it goes on waiting when the crawl
// is finished or limited. It returns the error of ctx, with the reason of the wait, or store.ErrClosed after
// Close. Waiting costs nothing: an add, a settlement, a change of settings or the time at which a queue may
// be served ends it.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) { return f.next(ctx, false) }

// Leases yields leases, as Next does, until the crawl is finished: no URL of it is
// queued or leased. It ends with the first error, and with [ErrLimited] when all URLs left are behind a
// limit. While it waits it calls [Options.OnWait] with the reason.
// Several goroutines may each range over their own Leases. An unsettled lease
// keeps all of them waiting, since it may still add URLs.
func (f *Frontier) Leases(ctx context.Context) iter.Seq2[*Lease, error] {
	return async.All(func() (*Lease, error) { return f.next(ctx, true) })
}

// next returns async.ErrFinished when nothing is held and ends is set.
func (f *Frontier) next(ctx context.Context, ends bool) (*Lease, error) {
	leases, idle, err := f.LeaseWait(ctx, LeaseRequest{Max: 1}, ends)
	switch {
	case err != nil && idle.State != store.Served:
		return nil, fmt.Errorf("cannot lease; the crawl is %v: %w", idle, err)
	case err != nil:
		return nil, err
	case idle.State == store.Limited:
		return nil, fmt.Errorf("%w: %v", ErrLimited, idle)
	case len(leases) == 0:
		return nil, async.ErrFinished
	}
	return leases[0], nil
}

// LeaseWait is like Lease, but waits until there is something to lease or ctx ends. It is for servers with many
// fetchers. With untilFinished it also returns without leases when the requested crawl (or all of them, for
// "*") is finished or limited, as idle says. If ctx ends, idle is the reason of the wait, and the zero Idle if
// ctx ended before the first look. Waiting costs nothing, as in Next.
//
// Callers that wait with the same request are served in the order in which they came.
func (f *Frontier) LeaseWait(ctx context.Context, req LeaseRequest, untilFinished bool) (leases []*Lease, idle Idle, err error) {
	if err := f.enter(); err != nil {
		return nil, Idle{}, err
	}
	defer f.leave()
	room := f.rooms.join(f, req)
	defer f.rooms.leave(room)
	leases, err = room.line.Wait(ctx, f.closing, store.ErrClosed, room, max(req.Max, 1), untilFinished)
	var end *ended
	switch {
	case err == nil:
		return leases, Idle{}, nil
	case errors.As(err, &end):
		return nil, end.Idle, nil
	}
	room.line.Locked(func(bool) { idle = room.idle })
	return nil, idle, err
}

// ended is the answer to callers that wait for the end.
type ended struct{ Idle }

func (e *ended) Error() string { return e.String() }

// room holds the callers that wait with the same request, but for its Max. It is the owner of its
// line.
type room struct {
	f    *Frontier
	req  LeaseRequest // its Max is 0
	line async.Line[*Lease]

	callers int           // guarded by rooms.mu
	idle    Idle          // guarded by the lock of line; from the latest answer without leases
	changed chan struct{} // guarded by the lock of line; closed and replaced when something changed
	told    string        // the latest text for OnWait; of the goroutine that serves
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
		leases, idle, err := r.f.take(context.Background(), req)
		switch {
		case err != nil:
			r.line.Fail(err)
		case len(leases) > 0:
			r.f.giveBack(r.line.Hand(leases))
		default:
			r.line.Locked(func(bool) { r.idle = idle })
			if ends && idle.ends() {
				r.line.Finish(&ended{idle})
			} else if ends {
				r.tell(idle)
			}
			r.f.sleep(idle.Next, changed)
		}
	}
}

// tell calls OnWait with the reason of the wait, unless it did so last or the wait is over soon.
func (r *room) tell(idle Idle) {
	says := idle.String()
	if r.f.opt.OnWait == nil || says == r.told || !idle.Next.IsZero() && time.Until(idle.Next) < time.Second {
		return
	}
	r.told = says
	r.f.opt.OnWait(idle)
}

// giveBack releases leases whose callers went away.
func (f *Frontier) giveBack(left []*Lease) {
	if len(left) == 0 {
		return
	}
	settlements := make([]Settlement, len(left))
	for i, l := range left {
		settlements[i] = Settlement{Lease: l, Outcome: Release, uncounted: true}
	}
	// If this fails, the leases expire.
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

// rooms are the rooms with callers in them, by crawl ("*" is any) and request.
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
	of := rs.byName[req.Crawl]
	if of == nil {
		of = make(map[LeaseRequest]*room, 1)
		rs.byName[req.Crawl] = of
	}
	r := of[req]
	if r == nil {
		r = &room{f: f, req: req, changed: make(chan struct{})}
		r.line.Alone = req.MaxQueues > 0 // the bound holds for each caller
		of[req] = r
	}
	r.callers++
	return r
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
