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
	Now, Delay, Until                            int64
	MaxURLs, MaxQueues, MaxPerQueue, MaxInFlight int
	MaxBytes                                     int64
	// Part is how far the request has come, if it is carried out in several calls; nil if in one.
	Part *Part
}

// Part is the part of a request that one call of [Sched.Take] carries out, with what the calls before it did. What a
// call serves stays served: others may come between two parts.
type Part struct {
	Room int  // how much this part may still do: 1 for each URL, and queueCost for each queue that is served
	More bool // by the end of a part: there is another, with more room

	taken  int
	bytes  int64 // of these
	queues int
	served map[*Queue]bool // which are not served again
	begun  *Queue          // the part ended in it: it may give as many more
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
		Now: now, Delay: max(0, DurMs(r.Delay)), Until: now + DurMs(r.Lease),
		MaxURLs: max(1, r.MaxURLs), MaxPerQueue: max(1, r.MaxPerQueue),
		MaxBytes: r.MaxBytes, MaxQueues: max(0, r.MaxQueues), MaxInFlight: max(0, r.MaxInFlight),
	}
}

// queueCost is how many URLs of a queue cost as much as to come to the queue.
const queueCost = 4

// Serve leases up to n URLs of a queue, but none once it leased room bytes (see Size): first
// the expired leases, then the due URLs. It returns how many it leased, and their bytes.
type Serve func(q *Queue, n int, room int64) (got int, bytes int64, err error)

// Size returns what a URL of an answer counts of MaxBytes.
func Size(r *Record) int64 { return int64(len(r.URL) + len(r.Meta)) }

// taking is a take in progress.
type taking struct {
	Request
	*Part
	serve Serve
	only  *Queue   // the queue asked for; nil: any
	aside []*Queue // served, to be filed when the call is over
}

// Take serves queues of one crawl, or with nil of all in rotation, each at
// most once, until the request is satisfied; only the given queue if there is one. Next is when there
// may be more; [Never] if nothing waits, the answer is not short, or the request has another part.
func (s *Sched) Take(c *Crawl, only *Queue, r Request, serve Serve) (next int64, err error) {
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
	next = Never
	if t.More = err == nil && t.Room <= 0 && !t.filled() && (t.begun != nil || !t.full()); t.More {
		t.note()
	}
	if t.filled() || t.More {
		return next, err
	}
	for _, c := range crawls {
		next = min(next, notBefore(&c.Settings, t.next(c)))
	}
	return notBefore(&s.Defaults, next), err
}

// next is when a crawl may have something for the request that it has not now; its own settings
// may allow it only later.
func (t *taking) next(c *Crawl) int64 {
	if t.pick(c) != nil {
		return t.Now
	}
	next := Never
	switch {
	case t.only == nil && c.waiting.Len() > 0:
		next = c.waiting.Top().wake
	case t.only != nil && t.only.opens() > t.Now: // or it has as many leases as this request allows
		next = t.only.opens()
	}
	if c.leases.Len() > 0 && (t.only == nil || t.only.live > 0) {
		next = min(next, c.leases.Top().Until)
	}
	return next
}

// pick returns the queue of a crawl whose turn it is, nil if there is none for the request.
func (t *taking) pick(c *Crawl) *Queue {
	switch {
	case t.only == nil:
		return c.pick(t.MaxInFlight)
	case t.only.place == inReady && (t.MaxInFlight <= 0 || int(t.only.class) < t.MaxInFlight):
		return t.only
	}
	return nil
}

// notBefore moves a time after a block by settings.
func notBefore(s *store.QueueSettings, t int64) int64 {
	if t == Never || s.Paused {
		return Never
	}
	return max(t, Ms(s.BlockedUntil))
}

// rotate takes one queue of each crawl in turn, and leaves the crawls so that
// the next call continues where this one ended.
func (t *taking) rotate(crawls []*Crawl) (err error) {
	left := slices.Clone(crawls)
	last := (*Crawl)(nil)
	if q := t.begun; q != nil && open(&q.Crawl.Settings, t.Now) {
		q.unfile()
		t.aside = append(t.aside, q)
		err = t.from(q)
	}
	for err == nil && len(left) > 0 && !t.full() && t.Room > 0 {
		more := left[:0] // those that had something in this round
		for _, c := range left {
			q := t.pick(c)
			if q == nil || !open(&c.Settings, t.Now) {
				continue
			}
			q.unfile()
			t.aside = append(t.aside, q)
			more = append(more, c)
			if t.served[q] {
				continue
			}
			err = t.from(q)
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
		q.LastTake, q.LastDelay = t.Now, t.Delay
	}
	if got > 0 && !goesOn {
		t.queues++
		q.Crawl.turn = q.turn
		q.turn += stride / q.weight()
	}
	return err
}
