package sched

import (
	"math"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Request is a [store.TakeRequest] with its defaults filled in.
type Request struct {
	Now, Delay, Until                            int64
	MaxURLs, MaxQueues, MaxPerQueue, MaxInFlight int
	MaxBytes                                     int64
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
		Now: now, Delay: max(0, DurMs(r.Delay)), Until: now + DurMs(r.Lease),
		MaxURLs: max(1, r.MaxURLs), MaxPerQueue: max(1, r.MaxPerQueue),
		MaxBytes: r.MaxBytes, MaxQueues: max(0, r.MaxQueues), MaxInFlight: max(0, r.MaxInFlight),
	}
}

// Serve leases up to n URLs of a queue, but none once it leased room bytes (see Size): first
// the expired leases, then the due URLs. It returns how many it leased, and their bytes.
type Serve func(q *Queue, n int, room int64) (got int, bytes int64, err error)

// Size returns what a URL of an answer counts of MaxBytes.
func Size(r *Record) int64 { return int64(len(r.URL) + len(r.Meta)) }

// taking is a take in progress.
type taking struct {
	Request
	serve  Serve
	taken  int
	bytes  int64 // of these
	queues int
	aside  []*Queue // served, to be filed when the call is over
}

// Take serves queues of one crawl, or with nil of all in rotation, each at
// most once, until the request is satisfied. Next is when there may be more;
// [Never] if nothing waits or the answer is not short.
func (s *Sched) Take(c *Crawl, r Request, serve Serve) (next int64, err error) {
	t := &taking{Request: r, serve: serve}
	crawls := []*Crawl{c}
	if c == nil {
		s.DropEmpty()
		crawls = s.crawls
	}
	for _, c := range crawls {
		c.Advance(r.Now)
	}
	if open(&s.Defaults, r.Now) {
		err = t.rotate(crawls)
	}
	return s.short(t, crawls), err
}

// TakeFrom serves one queue.
func (s *Sched) TakeFrom(q *Queue, r Request, serve Serve) (next int64, err error) {
	t := &taking{Request: r, serve: serve}
	c := q.Crawl
	c.Advance(r.Now)
	if open(&s.Defaults, r.Now) && c.served(r.Now) && q.offers(r.MaxInFlight) {
		q.unfile()
		err = t.from(q)
		q.File(r.Now)
	}
	if t.filled() {
		return Never, err
	}
	return s.gated(c, q.next(r)), err
}

// next is when the queue may have something for a request that it has not now.
func (q *Queue) next(r Request) int64 {
	next := q.opens()
	switch {
	case q.offers(r.MaxInFlight):
		return r.Now
	case next <= r.Now:
		next = Never // as many leases as this request allows
	}
	if q.live > 0 {
		next = min(next, q.Crawl.leases.Top().Until)
	}
	return next
}

// offers reports whether the queue is ready for a request with this bound.
func (q *Queue) offers(bound int) bool {
	return q.place == inReady && (bound <= 0 || int(q.class) < bound)
}

// rotate takes one queue of each crawl in turn, and leaves the crawls so that
// the next call continues where this one ended.
func (t *taking) rotate(crawls []*Crawl) (err error) {
	left := append([]*Crawl(nil), crawls...)
	last := (*Crawl)(nil)
	for err == nil && len(left) > 0 && !t.full() {
		more := left[:0] // those that had something in this round
		for _, c := range left {
			q := c.pick(t.MaxInFlight)
			if q == nil || !c.served(t.Now) {
				continue
			}
			q.unfile()
			err = t.from(q)
			t.aside = append(t.aside, q)
			last = c
			if more = append(more, c); err != nil || t.full() {
				break
			}
		}
		left = more
	}
	for _, q := range t.aside {
		q.File(t.Now)
	}
	turnTo(crawls, last)
	return err
}

// turnTo rotates the crawls so that the given one is last.
func turnTo(crawls []*Crawl, last *Crawl) {
	for i, c := range crawls {
		if c == last {
			turned := append(append([]*Crawl(nil), crawls[i+1:]...), crawls[:i+1]...)
			copy(crawls, turned)
			return
		}
	}
}

func (t *taking) full() bool {
	return t.filled() || t.MaxQueues > 0 && t.queues >= t.MaxQueues
}

// filled reports whether the answer has all that was asked for.
func (t *taking) filled() bool { return t.taken >= t.MaxURLs || t.bytes >= t.MaxBytes }

// stride is what a turn costs a queue of weight 1.
const stride = 1 << 16

// from serves one queue that is out of the rotation.
func (t *taking) from(q *Queue) error {
	n := min(t.MaxPerQueue, t.MaxURLs-t.taken)
	bound := q.bound()
	if bound == 0 {
		bound = t.MaxInFlight
	}
	if bound > 0 {
		n = min(n, bound-int(q.live))
	}
	got, bytes, err := t.serve(q, n, t.MaxBytes-t.bytes)
	if got > 0 {
		t.taken += got
		t.bytes += bytes
		t.queues++
		q.LastTake, q.LastDelay = t.Now, t.Delay
		q.Crawl.turn = q.turn
		q.turn += stride / q.weight()
	}
	return err
}

// short returns when there may be more for a request that got too little.
func (s *Sched) short(t *taking, crawls []*Crawl) int64 {
	next := Never
	if t.filled() {
		return next
	}
	for _, c := range crawls {
		at := c.next(t.Now, t.MaxInFlight)
		if c.served(t.Now) && c.pick(t.MaxInFlight) != nil {
			at = t.Now
		}
		next = min(next, at)
	}
	return s.gated(nil, next)
}

// gated moves a time behind the blocks of a crawl, if given, and of the store.
func (s *Sched) gated(c *Crawl, t int64) int64 {
	if t == Never || s.Defaults.Paused || c != nil && c.Settings.Paused {
		return Never
	}
	if c != nil {
		t = max(t, Ms(c.Settings.BlockedUntil))
	}
	return max(t, Ms(s.Defaults.BlockedUntil))
}
