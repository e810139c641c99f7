package sched

import (
	"math"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// A take goes through the crawls in turn, and in each through the ready queues by their turn, until the request is satisfied. It
// may be carried out in parts, with other steps in between (Part): a queue that was served is not served again.

// Request is a [store.TakeRequest] with its defaults filled in.
type Request struct {
	Client                                       string
	Now, Delay, Until                            int64
	MaxURLs, MaxQueues, MaxPerQueue, MaxInFlight int
	MaxBytes                                     int64
	// Part is how far the request has come, if it is carried out in several calls; nil if in one.
	Part *Part
}

// Part is the part of a request that one call of [Sched.Take] carries out, with the progress of the calls before. Served
// queues stay served: other steps may come between two parts.
type Part struct {
	Room int  // how much this part may still do: 1 for each URL, and queueCost for each queue that is served
	More bool // set at the end of a part: there is another, with more room

	taken  int
	bytes  int64 // of these
	queues int
	served map[*Queue]bool // not served again
	begun  *Queue          // the part ended in it: it may give rest more
	rest   int
}

// defaultLease is how long URLs are leased unless the request says.
const defaultLease = 30 * time.Second

// NewRequest fills in the defaults.
func NewRequest(r store.TakeRequest, now int64) Request {
	if r.Lease <= 0 {
		r.Lease = defaultLease
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = math.MaxInt64
	}
	return Request{
		Now: now, Client: r.Client, Delay: max(0, DurMs(r.Delay)), Until: now + DurMs(r.Lease),
		MaxURLs: max(1, r.MaxURLs), MaxPerQueue: max(1, r.MaxPerQueue),
		MaxBytes: r.MaxBytes, MaxQueues: max(0, r.MaxQueues), MaxInFlight: max(0, r.MaxInFlight),
	}
}

// queueCost is the cost of turning to a queue, in URLs leased.
const queueCost = 4

// Serve leases up to n URLs of a queue, and stops once they have room bytes (see Size): first
// the expired leases, then the due URLs. It returns how many it leased, and their bytes.
type Serve func(q *Queue, n int, room int64) (got int, bytes int64, err error)

// Size returns the bytes of a URL that count towards MaxBytes.
func Size(r *Record) int64 { return int64(len(r.URL) + len(r.Meta)) }

// taking is a take in progress.
type taking struct {
	Request
	*Part
	serve Serve
	only  *Queue   // the queue asked for; nil: any
	aside []*Queue // served, to be filed when the call is over
}

// Rest tells when there may be more, and what holds it back: see [store.Taken]. Next is [Never] if nothing waits, the request
// is satisfied, or it has another part. State and Holding are for an answer without leases.
type Rest struct {
	Next    int64
	State   store.TakeState
	Holding store.Holding
}

// AnswerTo sets the fields of an answer besides its leases.
func (r Rest) AnswerTo(t *store.Taken) {
	if t.Next = Time(r.Next); len(t.Leases) == 0 {
		t.State, t.Holding = r.State, r.Holding
	}
}

// Nothing is the Rest for an unknown crawl or queue.
var Nothing = Rest{Next: Never, State: store.Finished}

// Take serves queues of one crawl, or with nil of all in rotation, each at
// most once, until the request is satisfied; only the given queue if there is one.
func (s *Sched) Take(c *Crawl, only *Queue, r Request, serve Serve) (rest Rest, err error) {
	crawls := []*Crawl{c}
	if c == nil {
		s.DropEmpty()
		crawls = s.crawls
	}
	t := &taking{Request: r, Part: r.Part, serve: serve, only: only}
	if t.Part == nil {
		t.Part = &Part{Room: math.MaxInt}
	}
	for _, c := range crawls {
		t.Room = c.AdvanceSome(r.Now, t.Room)
	}
	if open(&s.Defaults, r.Now) && t.Room > 0 {
		err = t.rotate(crawls)
	}
	rest.Next = Never
	if t.More = err == nil && t.Room <= 0 && !t.filled() && (t.begun != nil || !t.full()); t.More {
		t.note()
	}
	if t.filled() || t.More {
		return rest, err
	}
	first := free // what holds back the first to open
	for _, c := range crawls {
		next, by := t.next(c)
		if next, by = notBefore(&c.Settings, next, by); next < rest.Next {
			rest.Next, first = next, by
		}
	}
	if rest.Next, first = notBefore(&s.Defaults, rest.Next, first); t.taken == 0 {
		rest.State, rest.Holding = t.state(crawls, first)
	}
	return rest, err
}

// state returns why nothing was taken.
func (t *taking) state(crawls []*Crawl, first hold) (store.TakeState, store.Holding) {
	var sum store.Holding
	runs := false
	for _, c := range crawls {
		h := store.Holding{Queues: c.Active, Paused: c.holds[paused], Limited: c.holds[limited], Blocked: c.holds[blocked]}
		if q := t.only; q != nil {
			h = store.Holding{Queues: one(q.Held() > 0), Paused: one(q.held == paused), Limited: one(q.held == limited), Blocked: one(q.held == blocked)}
		}
		isPaused := c.Settings.Paused || c.sched.Defaults.Paused
		isBlocked := !open(&c.Settings, t.Now) || !open(&c.sched.Defaults, t.Now)
		sum = SumOf(sum, HeldBack(h, isPaused, t.serves(c), isBlocked))
		runs = runs || t.runs(c)
	}
	return StateOf(sum, runs, first == blocked), sum
}

// HeldBack returns what holds back the queues of a crawl, given what holds back each of them, whether the whole crawl is paused or blocked, and
// whether its limit leaves the request anything.
func HeldBack(h store.Holding, paused, serves, blocked bool) store.Holding {
	switch {
	case paused:
		return store.Holding{Queues: h.Queues, Paused: h.Queues}
	case !serves:
		return store.Holding{Queues: h.Queues, Paused: h.Paused, Limited: h.Queues - h.Paused}
	case blocked:
		h.Blocked = h.Queues - h.Paused - h.Limited
	}
	return h
}

// SumOf adds what holds back queues of two crawls, or in two places.
func SumOf(a, b store.Holding) store.Holding {
	return store.Holding{Queues: a.Queues + b.Queues, Paused: a.Paused + b.Paused, Limited: a.Limited + b.Limited, Blocked: a.Blocked + b.Blocked}
}

// StateOf returns the state of an answer without leases, given whether a lease runs, and whether the first thing to open is blocked.
func StateOf(n store.Holding, runs, blocked bool) store.TakeState {
	switch {
	case n.Queues == 0:
		return store.Finished
	case n.Paused == n.Queues:
		return store.Paused
	case runs:
		return store.Waiting
	case n.Paused+n.Limited == n.Queues:
		return store.Limited
	case blocked:
		return store.Blocked
	}
	return store.Delayed
}

// runs reports whether a lease runs.
func (t *taking) runs(c *Crawl) bool {
	if t.only != nil {
		return t.only.running() > 0
	}
	return c.leases.Len() > 0
}

// serves reports whether a crawl's limit leaves the request anything. At the limit, only expired leases are left.
func (t *taking) serves(c *Crawl) bool {
	if t.only != nil {
		return c.gives(t.only) > 0
	}
	return c.room()+c.late() > 0
}

// next returns when a crawl may have more for the request, and what holds that back; the settings of the crawl
// may allow it only later.
func (t *taking) next(c *Crawl) (next int64, by hold) {
	if q, _ := t.pick(c); q != nil {
		return t.Now, free
	}
	next = Never
	switch {
	case !t.serves(c):
	case t.only != nil:
		if at, h := t.only.passes(t.Now); at > t.Now { // or it has as many leases as this request allows
			next, by = at, h
		}
	case c.room() > 0:
		if c.waiting.Len() > 0 {
			next, by = c.waiting.Top().wake(), c.waiting.Top().held
		}
	default:
		for q := range c.expired {
			at := q.wake()
			if q.group().has(q) {
				at, _ = q.passes(t.Now)
			} else if q.place != inWaiting {
				continue
			}
			if at > t.Now && at < next {
				next, by = at, q.held
			}
		}
	}
	if c.leases.Len() > 0 && (t.only == nil || t.only.fetchers() > 0 || t.only.rare().late > 0 && c.room() < 0) { // beyond a limit, expired leases count
		next = min(next, c.leases.Top().Until)
	}
	return next, by
}

// pick returns the queue of a crawl to be served next, nil if there is none for the request, and whether it is served before its
// turn.
func (t *taking) pick(c *Crawl) (best *Queue, hurries bool) {
	switch ready := func(q *Queue) bool {
		if g := q.group(); g.has(q) {
			return g.opens(q, t.MaxInFlight, t.Now)
		}
		return q.place == inReady && (t.MaxInFlight <= 0 || int(q.class) < t.MaxInFlight)
	}; {
	case !t.serves(c):
	case t.only != nil:
		if ready(t.only) {
			best = t.only
		}
	case c.room() > 0:
		if best = c.pickUrgent(t.MaxInFlight, t.Now); best != nil {
			return best, true
		}
		best = c.pick(t.MaxInFlight)
	default:
		for q := range c.expired {
			if ready(q) && (best == nil || q.turnsBefore(best)) {
				best = q
			}
		}
	}
	return best, false
}

// notBefore moves a time after a block by the settings of a crawl or the store.
func notBefore(s *store.CrawlSettings, t int64, by hold) (int64, hold) {
	switch block := Ms(s.BlockedUntil); {
	case t == Never || s.Paused:
		return Never, by
	case block > t:
		return block, blocked
	}
	return t, by
}

// rotate takes one queue of each crawl in turn, and leaves the crawls so that
// the next call continues where this one ended.
func (t *taking) rotate(crawls []*Crawl) (err error) {
	left := slices.Clone(crawls)
	last := (*Crawl)(nil)
	if q := t.begun; q != nil && open(&q.Crawl.Settings, t.Now) && t.serves(q.Crawl) {
		q.unfile()
		t.aside = append(t.aside, q)
		err = t.from(q, false)
	}
	for err == nil && len(left) > 0 && !t.full() && t.Room > 0 {
		more := left[:0] // those that had something in this round
		for _, c := range left {
			q, hurries := t.pick(c)
			if q == nil || !open(&c.Settings, t.Now) {
				continue
			}
			q.unfile()
			t.aside = append(t.aside, q)
			more = append(more, c)
			if t.served[q] {
				continue
			}
			err = t.from(q, hurries)
			if last = c; err != nil || t.full() || t.Room <= 0 {
				break
			}
		}
		left = more
	}
	for _, q := range t.aside {
		q.File(t.Now)
	}
	if i := slices.Index(crawls, last) + 1; i > 0 {
		copy(crawls, slices.Concat(crawls[i:], crawls[:i]))
	}
	return err
}

// note notes which queues were served, for the next part.
func (t *taking) note() {
	if t.served == nil {
		t.served = map[*Queue]bool{}
	}
	for _, q := range t.aside {
		t.served[q] = true
	}
}

func (t *taking) full() bool {
	return t.filled() || t.MaxQueues > 0 && t.queues >= t.MaxQueues
}

// filled reports whether the request is satisfied.
func (t *taking) filled() bool { return t.taken >= t.MaxURLs || t.bytes >= t.MaxBytes }

// stride is what a turn costs a queue of weight 1.
const stride = 1 << 16

// from serves one queue, which is in no heap, in its turn or before it.
func (t *taking) from(q *Queue, hurries bool) error {
	n := min(t.MaxPerQueue, t.MaxURLs-t.taken)
	bound := q.bound()
	if bound == 0 {
		bound = t.MaxInFlight
	}
	if bound > 0 {
		n = min(n, bound-q.fetchers())
	}
	n = min(n, int(max(0, min(int64(q.rare().late)+q.room(), q.Crawl.gives(q)))))
	goesOn := q == t.begun // it had its turn
	if goesOn {
		n = min(n, t.rest)
	}
	some := min(n, t.Room)
	got, bytes, err := t.serve(q, some, t.MaxBytes-t.bytes)
	t.Room -= queueCost + got
	if t.begun, t.rest = nil, n-got; got == some && got < n {
		t.begun = q
	}
	if got > 0 {
		t.taken += got
		t.bytes += bytes
		p := q.past()
		p.LastTake, p.LastDelay = t.Now, t.Delay
	}
	if got > 0 && !goesOn {
		t.queues++
		q.Crawl.hurried = hurries
	}
	if got > 0 && !goesOn && !hurries {
		q.Crawl.turn = q.turn
		q.turn += stride / q.weight()
	}
	if g := q.group(); g != nil {
		g.served(q, got, t.Now)
	}
	return err
}
