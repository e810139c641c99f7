package frontier

import (
	"cmp"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// The model is what a frontier is meant to do, written the slow and plain way:
// lists that are searched from end to end, and times that are compared. It was
// written before it was ever run against a store, and shares no code with one.

type modelState int

const (
	mSeen modelState = iota
	mQueued
	mLeased
)

// modelURL is one page, whatever its spelling.
type modelURL struct {
	crawl, page string
	queue       *modelQueue
	state       modelState
	spelling    string
	priority    uint8
	due         time.Time
	arrival     int
	attempts    int
	failures    int
	deferrals   int
	ranOut      int // hand-outs that were not settled
	expires     time.Time
	lease       *Lease   // the latest hand-out
	round       []*Lease // the latest hand-outs of this round
	overtaken   *Lease   // the hand-out that a late result overtook
	overUntil   time.Time
	waits       bool // queued, and due when overtaken ends
	leasedAs    int  // order of hand-outs
}

type modelQueue struct {
	crawl, host string
	delay       time.Duration // 0: the default
	blocked     time.Time
	paused      bool
	lastTake    time.Time
	notBefore   time.Time // the adaptive delay
	weight      int       // 0: 1
	owes        bool      // its latest turn was at another weight
	passed      int       // services of others while it could have been served
}

type modelPolicy struct {
	delay       time.Duration
	maxInFlight int
	lease       time.Duration
	retryAfter  time.Duration
	attempts    int
	maxDeferred int
	maxPerQueue int
	adaptive    float64
	maxExpired  int
	races       bool // turns go by weight alone
	tuning
}

type model struct {
	policy   modelPolicy
	urls     []*modelURL
	queues   []*modelQueue
	paused   map[string]bool // crawls
	arrivals int
	leases   int
	ends     map[string]modelEnds // by crawl
	races    []*race              // see modelfair_test.go
}

// modelEnds counts completed and dropped URLs, of which only the key is kept, and fetches.
type modelEnds struct{ completed, dropped, fetched, failed int64 }

func (m *model) count(crawl string, add modelEnds) {
	e := m.ends[crawl]
	m.ends[crawl] = modelEnds{e.completed + add.completed, e.dropped + add.dropped, e.fetched + add.fetched, e.failed + add.failed}
}

func (m *model) complete(u *modelURL) {
	m.count(u.crawl, modelEnds{completed: 1, fetched: 1})
	u.state, u.round = mSeen, nil
}

func (m *model) drop(u *modelURL) {
	m.count(u.crawl, modelEnds{dropped: 1, failed: 1})
	u.state, u.round = mSeen, nil
}

func (m *model) find(crawl, page string) *modelURL {
	for _, u := range m.urls {
		if u.crawl == crawl && u.page == page {
			return u
		}
	}
	return nil
}

func (m *model) queue(crawl, host string) *modelQueue {
	for _, q := range m.queues {
		if q.crawl == crawl && q.host == host {
			return q
		}
	}
	q := &modelQueue{crawl: crawl, host: host}
	m.queues = append(m.queues, q)
	return q
}

func (u *modelURL) held() bool { return u.state == mQueued || u.state == mLeased }

func (m *model) heldIn(q *modelQueue) (n int) {
	for _, u := range m.urls {
		if u.queue == q && u.held() {
			n++
		}
	}
	return n
}

// offered is what the model says to an offer.
type offered struct {
	status   Status
	requeued bool
	reason   Reason
	first    string
}

// raise has a queued URL take over what a duplicate of it asks for, and reports whether that is anything.
func (u *modelURL) raise(o Link, now time.Time) (changed bool) {
	if u.state != mQueued {
		return false
	}
	if o.Force && u.due.After(now) && u.due.After(o.Due) {
		if u.due = o.Due; o.Due.IsZero() {
			u.due = now
		}
		changed = true
	}
	if o.Raise && o.Priority > u.priority {
		u.priority, changed = o.Priority, true
	}
	return changed
}

func (m *model) add(crawl, page, host, spelling string, o Link, now time.Time) offered {
	u := m.find(crawl, page)
	q := m.queue(crawl, host)
	if u != nil {
		first := ""
		if u.held() {
			first = u.spelling
		}
		if !o.Force || u.held() {
			return offered{status: StatusDuplicate, first: first}
		}
	}
	if m.heldIn(q) >= m.policy.maxPerQueue {
		return offered{status: StatusRefused, reason: ReasonFull}
	}
	answer := offered{status: StatusDuplicate, requeued: true}
	if u == nil {
		u = &modelURL{crawl: crawl, page: page}
		m.urls = append(m.urls, u)
		answer = offered{status: StatusNew}
	}
	u.queue, u.spelling, u.priority, u.overtaken = q, spelling, o.Priority, nil
	u.begin()
	m.enqueue(u, o.Due, now)
	return answer
}

// begin begins a round.
func (u *modelURL) begin() { u.attempts, u.failures, u.deferrals, u.ranOut, u.round = 0, 0, 0, 0, nil }

func (m *model) enqueue(u *modelURL, due, now time.Time) {
	if due.IsZero() {
		due = now
	}
	m.arrivals++
	u.state, u.due, u.arrival, u.waits = mQueued, due, m.arrivals, false
}

// running returns the leases of a queue that have not run out.
func (m *model) running(q *modelQueue, now time.Time) (n int) {
	for _, u := range m.urls {
		if u.queue == q && u.state == mLeased && u.expires.After(now) {
			n++
		}
		if u.queue == q && u.overtaken != nil && u.overUntil.After(now) {
			n++
		}
	}
	return n
}

// gate names the rule that keeps a queue from being served, "" if none does.
func (m *model) gate(q *modelQueue, now time.Time) string {
	delay := m.policy.delay
	if q.delay != 0 {
		delay = max(q.delay, 0)
	}
	switch {
	case q.paused || m.paused[q.crawl]:
		return "paused"
	case q.blocked.After(now):
		return "blocked"
	case !q.lastTake.IsZero() && q.lastTake.Add(delay).After(now):
		return "delay"
	case q.notBefore.After(now):
		return "adaptive delay"
	case m.running(q, now) >= m.policy.maxInFlight:
		return "in flight"
	case m.head(q, now) == nil:
		return "nothing due"
	}
	return ""
}

// opens returns the first time between two, the second left out, at which a
// queue may be served if nothing but time passes; zero if there is none. Only
// at the times that stand somewhere in the model can anything change.
func (m *model) opens(from, deadline time.Time) time.Time {
	times := []time.Time{from}
	for _, u := range m.urls {
		times = append(times, u.due, u.expires, u.overUntil)
	}
	for _, q := range m.queues {
		times = append(times, q.blocked, q.notBefore, q.lastTake.Add(max(q.delay, 0)), q.lastTake.Add(m.policy.delay))
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range times {
		if at.Before(from) || !at.Before(deadline) {
			continue
		}
		for _, q := range m.queues {
			if m.gate(q, at) == "" {
				return at
			}
		}
	}
	return time.Time{}
}

// head returns what a queue would hand out: leases that ran out, earliest
// first, then by priority, due time and arrival.
func (m *model) head(q *modelQueue, now time.Time) *modelURL {
	var late, due []*modelURL
	for _, u := range m.urls {
		switch {
		case u.queue != q:
		case u.state == mLeased && !u.expires.After(now):
			late = append(late, u)
		case u.state == mQueued && !u.due.After(now):
			due = append(due, u)
		}
	}
	if len(late) > 0 {
		return slices.MinFunc(late, func(a, b *modelURL) int {
			return cmp.Or(a.expires.Compare(b.expires), cmp.Compare(a.leasedAs, b.leasedAs))
		})
	}
	if len(due) == 0 {
		return nil
	}
	return slices.MinFunc(due, func(a, b *modelURL) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), a.due.Compare(b.due), cmp.Compare(a.arrival, b.arrival))
	})
}

func (m *model) leaseOut(u *modelURL, l *Lease, now time.Time) {
	m.leases++
	if u.state == mLeased {
		u.ranOut++
	}
	u.state, u.lease, u.leasedAs = mLeased, l, m.leases
	u.round = append(u.round, l)[max(len(u.round)+1-16, 0):]
	u.expires = now.Add(m.policy.lease)
	u.attempts++
	u.queue.lastTake, u.queue.passed, u.queue.owes = now, 0, false
}

// settle returns the result of a settlement. A stale one changes nothing. A page that an earlier lease of
// the round read counts, and overtakes the lease that runs.
func (m *model) settle(u *modelURL, l *Lease, s Settlement, now time.Time) Settled {
	if u.overtaken == l && u.overUntil.After(now) {
		if s.Outcome == Extend {
			return AlreadyDone
		}
		u.overtaken = nil
		if u.state == mQueued && u.waits {
			m.enqueue(u, now, now)
		}
		return AlreadyDone
	}
	if u.state != mLeased || u.lease != l {
		if late := s.Outcome == Done || s.Outcome == Recrawl; !late || !u.held() || !slices.Contains(u.round, l) {
			return Stale
		}
		if u.state == mLeased && u.expires.After(now) {
			u.overtaken, u.overUntil = u.lease, u.expires
		}
	}
	if s.BlockQueue.After(u.queue.blocked) {
		u.queue.blocked = s.BlockQueue
	}
	if fetched := s.Outcome != Release && s.Outcome != Extend; fetched && m.policy.adaptive > 0 {
		took := now.Sub(l.Started) * time.Duration(m.policy.adaptive)
		if at := now.Add(min(took, m.policy.maxAdaptive)); at.After(u.queue.notBefore) {
			u.queue.notBefore = at
		}
	}
	switch s.Outcome {
	case Done:
		m.complete(u)
	case Drop:
		m.drop(u)
	case Release:
		m.enqueue(u, time.Time{}, now)
	case Recrawl:
		m.count(u.crawl, modelEnds{fetched: 1})
		u.begin()
		waits := false
		if u.overtaken != nil && u.overUntil.After(now) && !s.At.After(u.overUntil) { // its holder is still at the page
			waits = !s.At.After(now)
			if s.At = u.overUntil; !waits {
				s.At = s.At.Add(time.Millisecond)
			}
		}
		m.enqueue(u, s.At, now)
		u.waits = waits
	case Extend:
		u.expires = s.At
	case Retry, Defer:
		count, bound := &u.failures, m.policy.attempts
		if s.Outcome == Defer || !s.BlockQueue.IsZero() {
			count, bound = &u.deferrals, m.policy.maxDeferred
		}
		if *count++; *count >= bound {
			m.drop(u)
			return GaveUp
		}
		if s.At.IsZero() {
			s.At = now.Add(m.backoff(*count))
		}
		m.enqueue(u, s.At, now)
	}
	return OK
}

func (m *model) backoff(count int) time.Duration {
	wait := m.policy.retryAfter
	for range count - 1 {
		wait *= 2
	}
	return min(wait, m.policy.maxBackOff)
}

func (m *model) put(crawl, page, host, spelling string, next, now time.Time) Status {
	u, status := m.find(crawl, page), StatusDuplicate
	if u == nil {
		u, status = &modelURL{crawl: crawl, page: page}, StatusNew
		m.urls = append(m.urls, u)
	} else if !u.held() && next.IsZero() {
		return status
	}
	if !u.held() {
		u.spelling, u.queue, u.priority = spelling, m.queue(crawl, host), 0
	}
	u.begin()
	u.overtaken = nil
	if next.IsZero() {
		m.complete(u)
	} else {
		m.count(u.crawl, modelEnds{fetched: 1})
		m.enqueue(u, next, now)
	}
	return status
}

func (m *model) forget(u *modelURL) {
	m.urls = slices.DeleteFunc(m.urls, func(v *modelURL) bool { return u == v })
}

// counts returns what Stats should say of a crawl, as far as the model goes.
func (m *model) counts(crawl string, now time.Time) store.Stats {
	e := m.ends[crawl]
	st := store.Stats{Completed: e.completed, Dropped: e.dropped, Fetched: e.fetched, Failed: e.failed}
	for _, u := range m.urls {
		if u.crawl != crawl {
			continue
		}
		st.Seen++
		if u.held() {
			st.Held++
		}
		if u.state == mLeased && u.expires.After(now) {
			st.InFlight++
		}
		if u.overtaken != nil && u.overUntil.After(now) {
			st.InFlight++
		}
	}
	return st
}
