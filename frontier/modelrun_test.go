package frontier

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
)

// modelRun performs random operations on a frontier and on the model, and
// compares. Each way in which they can differ has a name, so that a mutant can
// be asked for the one it must be caught by.
type modelRun struct {
	f       *Frontier
	m       *model
	rnd     *rand.Rand
	reopen  func(*Frontier) (*Frontier, error)
	old     []handOut // every hand-out there was
	gone    []gone    // what the frontier dropped since it was looked at
	takes   atomic.Int64
	history []string
}

// gone is a URL that the frontier dropped by itself.
type gone struct {
	at         time.Time
	crawl, url string
	take       int64 // the step of the store that took it
}

type handOut struct {
	u *modelURL
	l *Lease
}

// broken is an invariant that did not hold.
type broken struct{ invariant, detail string }

func (b *broken) Error() string { return b.invariant + ": " + b.detail }

const (
	invVerdict  = "exactly one new"
	invOnce     = "leased at most once at a time"
	invPolite   = "politeness"
	invOrder    = "order in the queue"
	invIdle     = "what may be served is served"
	invStarve   = "nothing starves"
	invLost     = "nothing is lost"
	invSettle   = "settled once"
	invSpelling = "handed out as found"
	invExpired  = "given up when its fetchers die, and not before"
	invWeights  = "turns by weight"
)

func breaks(invariant, format string, args ...any) error {
	return &broken{invariant, fmt.Sprintf(format, args...)}
}

var modelCrawls = []string{"DEFAULT", "other"}

const (
	modelHosts = 4
	modelPages = 9
)

// modelOptions are, for odd seeds, those of a crawl without politeness, where
// only fairness decides which queue is served.
func modelOptions(seed uint64) (Options, modelPolicy) {
	p := modelPolicy{delay: 700 * time.Millisecond, maxInFlight: 2, lease: 5 * time.Second, maxPerQueue: 6,
		retryAfter: 2 * time.Second, attempts: 3, maxDeferred: 4, maxExpired: 2, tuning: tuning{maxBackOff: 6 * time.Second}}
	switch {
	case seed%2 == 1:
		p.delay, p.maxInFlight, p.maxPerQueue, p.races = 0, 50, 9, seed%4 == 3
	case seed%4 == 0:
		p.adaptive, p.maxAdaptive = 2, 4*time.Second
	}
	return Options{Crawl: "*", FailingAfter: -1, Delay: cmp.Or(p.delay, -1), MaxInFlight: p.maxInFlight, Lease: p.lease, MaxPerQueue: int64(p.maxPerQueue),
		RetryAfter: p.retryAfter, Attempts: p.attempts, MaxDeferred: p.maxDeferred, Adaptive: p.adaptive, MaxExpired: p.maxExpired, tuning: p.tuning}, p
}

// onDrop notes what the frontier drops by itself.
func (r *modelRun) onDrop(d dropped) {
	if d.reason == ReasonExpired {
		r.gone = append(r.gone, gone{time.Now(), d.crawl, d.url, r.takes.Load()})
	}
}

// countTakes has a store count its takes.
type countTakes struct {
	store.Store
	takes *atomic.Int64
}

func (s countTakes) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	s.takes.Add(1)
	return s.Store.Take(ctx, req)
}

// run performs n operations, then waits until everything was handed out.
func (r *modelRun) run(n int) error {
	ops := []struct {
		weight int
		do     func() error
	}{
		{30, r.add}, {30, r.lease}, {10, r.leaseOneQueue}, {40, r.settle}, {12, r.step}, {4, r.put},
		{3, r.forget}, {3, r.block}, {2, r.pause}, {3, r.setDelay}, {2, r.setWeight}, {3, r.lookup}, {1, r.restart}, {1, r.takeAndRelease}, {12, r.next},
	}
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	for range n {
		x := r.rnd.IntN(total)
		for _, op := range ops {
			if x -= op.weight; x < 0 {
				if err := op.do(); err != nil {
					return err
				}
				break
			}
		}
		if err := r.count(); err != nil {
			return err
		}
		r.m.endRaces(time.Now())
	}
	return r.drain()
}

func (r *modelRun) note(format string, args ...any) {
	r.history = append(r.history, fmt.Sprintf(format, args...))
}

// page picks a page: its crawl, its name, its host and one of its spellings.
func (r *modelRun) page() (crawl, page, host, spelling string) {
	host = fmt.Sprintf("h%d.example", r.rnd.IntN(modelHosts))
	n := r.rnd.IntN(modelPages)
	spelling = []string{"http://%s/%d", "http://%s:80/%d", "HTTP://%s/./%d", "http://%s/%d#f", "http://%s//%d?"}[r.rnd.IntN(5)]
	return modelCrawls[r.rnd.IntN(2)], fmt.Sprintf("%s/%d", host, n), host, fmt.Sprintf(spelling, host, n)
}

func (r *modelRun) someTime() time.Time {
	return time.Now().Add(time.Duration(r.rnd.IntN(8000)-2000) * time.Millisecond)
}

func (r *modelRun) add() error {
	var urls []Link
	var want []offered
	for range 1 + r.rnd.IntN(5) {
		crawl, page, host, spelling := r.page()
		u := Link{URL: spelling, Crawl: crawl, Priority: uint8(r.rnd.IntN(3)), Force: r.rnd.IntN(6) == 0, Raise: r.rnd.IntN(4) == 0}
		if r.rnd.IntN(3) == 0 {
			u.Due = r.someTime()
		}
		urls = append(urls, u)
		_, _ = page, host
	}
	// A batch is stored crawl by crawl, the first one's first; pages of two
	// crawls have nothing to do with each other, so the order doesn't show.
	for _, u := range urls {
		page, host := modelPage(u.URL)
		want = append(want, r.m.add(u.Crawl, page, host, u.URL, u, time.Now()))
	}
	raised := map[*modelURL]bool{} // after all of the batch were added
	for i, u := range urls {
		page, _ := modelPage(u.URL)
		if is := r.m.find(u.Crawl, page); is != nil && want[i].status == StatusDuplicate && !want[i].requeued && is.raise(u, time.Now()) && !raised[is] {
			raised[is], is.overtaken = true, nil // a settlement without a token ends it
			r.m.enqueue(is, is.due, time.Now())
		}
	}
	r.note("add %+v", urls)
	results, err := r.f.AddBatch(bg, urls)
	if err != nil {
		return err
	}
	for i, got := range results {
		w := want[i]
		if got.Status != w.status || got.Requeued != w.requeued || got.Reason != w.reason {
			return breaks(invVerdict, "%s: got %v %q requeued %v; want %+v", urls[i].URL, got.Status, got.Reason, got.Requeued, w)
		}
		if got.First != w.first {
			return breaks(invSpelling, "%s: got first %q; want %q", urls[i].URL, got.First, w.first)
		}
	}
	return nil
}

// modelPage undoes the spellings of page.
func modelPage(spelling string) (page, host string) {
	s := strings.NewReplacer("HTTP://", "", "http://", "", ":80", "", "#f", "", "?", "", "/./", "/", "//", "/").Replace(spelling)
	host, _, _ = strings.Cut(s, "/")
	return s, host
}

func (r *modelRun) lease() error {
	n := 1 + r.rnd.IntN(6)
	if r.m.policy.delay == 0 {
		n = 1
	}
	leases, _, err := r.f.Lease(bg, LeaseRequest{Max: n})
	if err != nil {
		return err
	}
	r.note("lease %d: %s", n, urlsOf(leases))
	return r.checkLeases(leases, n, func(*modelQueue) bool { return true })
}

func (r *modelRun) leaseOneQueue() error {
	if r.m.policy.races {
		return nil // what a queue gets out of turn, it owes for long
	}
	crawl, _, host, _ := r.page()
	leases, _, err := r.f.Lease(bg, LeaseRequest{Crawl: crawl, Queue: host})
	if err != nil {
		return err
	}
	r.note("lease from %s %s: %s", crawl, host, urlsOf(leases))
	return r.checkLeases(leases, 1, func(q *modelQueue) bool { return q.crawl == crawl && q.host == host })
}

// checkLeases checks the handed-out URLs against every rule, and that no other URL could have been
// handed out.
func (r *modelRun) checkLeases(leases []*Lease, n int, asked func(*modelQueue) bool) error {
	now := time.Now()
	served, err := r.checkGone(len(leases) > 0)
	if err != nil {
		return err
	}
	for _, l := range leases {
		q := r.m.queue(l.Crawl, l.Queue)
		page, _ := modelPage(l.URL)
		u := r.m.find(l.Crawl, page)
		switch {
		case u == nil || !u.held():
			return breaks(invVerdict, "%s handed out; it isn't held", l.URL)
		case u.state == mLeased && u.expires.After(now):
			return breaks(invOnce, "%s handed out; it is leased until %v", l.URL, u.expires)
		}
		if gate := r.m.gate(q, now); gate != "" || slices.Contains(served, q) || !asked(q) {
			return breaks(invPolite, "%s handed out; its queue is not to be served: %q", l.URL, gate)
		}
		if head := r.m.head(q, now); head != u {
			return breaks(invOrder, "%s handed out; want %s first", l.URL, head.spelling)
		}
		if l.URL != u.spelling || l.Attempts != u.attempts+1 || l.Failures != u.failures || l.Deferrals != u.deferrals {
			return breaks(invSpelling, "%s handed out as attempt %d after %d failures and %d deferrals; want %s, %d, %d, %d", l.URL, l.Attempts, l.Failures, l.Deferrals, u.spelling, u.attempts+1, u.failures, u.deferrals)
		}
		r.m.leaseOut(u, l, now)
		if u.ranOut >= r.m.policy.maxExpired {
			return breaks(invExpired, "%s handed out after %d of its leases ran out; want it dropped", l.URL, u.ranOut)
		}
		served = append(served, q)
		r.old = append(r.old, handOut{u, l})
	}
	if !r.m.policy.races || n > 1 { // a call serves no queue twice, whatever its weight
		r.m.races = nil
	} else if err := r.m.race(served, now); err != nil {
		return err
	}
	return r.checkRest(served, len(served) < n, asked)
}

// checkGone checks the URLs that were dropped instead of handed out, by the same rules, and returns
// the queues whose turn they took. If a take got nothing else, the frontier takes again, from the
// same queues if they may be served.
func (r *modelRun) checkGone(handedOut bool) (served []*modelQueue, err error) {
	for _, g := range r.gone {
		page, host := modelPage(g.url)
		u, q := r.m.find(g.crawl, page), r.m.queue(g.crawl, host)
		if u == nil || u.state != mLeased || u.expires.After(g.at) {
			return nil, breaks(invExpired, "%s dropped; none of its leases ran out now", g.url)
		}
		if gate := r.m.gate(q, g.at); gate != "" || r.m.head(q, g.at) != u {
			return nil, breaks(invExpired, "%s dropped; it is not its turn: %q", g.url, gate)
		}
		r.m.leaseOut(u, nil, g.at)
		if u.ranOut < r.m.policy.maxExpired {
			return nil, breaks(invExpired, "%s dropped after %d of its leases ran out; want %d", g.url, u.ranOut, r.m.policy.maxExpired)
		}
		r.m.drop(u)
		if handedOut && g.take == r.takes.Load() { // it was taken together with handed-out URLs
			served = append(served, q)
		} else {
			r.m.races = nil
		}
	}
	r.gone = nil
	return served, nil
}

func (r *modelRun) checkRest(served []*modelQueue, short bool, asked func(*modelQueue) bool) error {
	now := time.Now()
	for _, q := range r.m.queues {
		if slices.Contains(served, q) || !asked(q) {
			continue
		}
		if r.m.gate(q, now) != "" {
			q.passed = 0
			continue
		}
		if short {
			return breaks(invIdle, "queue %s %s got nothing, though it may be served and there was room", q.crawl, q.host)
		}
		if q.passed += len(served); q.passed > 3*r.m.shares() {
			return breaks(invStarve, "queue %s %s was passed over %d times", q.crawl, q.host, q.passed)
		}
	}
	return nil
}

func urlsOf(leases []*Lease) (urls []string) {
	for _, l := range leases {
		urls = append(urls, l.Crawl+" "+l.URL)
	}
	return urls
}

// settle settles a hand-out: most often one of the latest, sometimes one from
// long ago, whose holder is late.
func (r *modelRun) settle() error {
	if len(r.old) == 0 {
		return nil
	}
	i := max(len(r.old)-1-r.rnd.IntN(6), 0)
	if r.rnd.IntN(8) == 0 {
		i = r.rnd.IntN(len(r.old))
	}
	h := r.old[i]
	s := Settlement{Lease: h.l, Outcome: []Outcome{Done, Done, Retry, Retry, Retry, Defer, Recrawl, Drop, Release, Extend}[r.rnd.IntN(10)]}
	if s.Outcome == Extend || r.rnd.IntN(3) == 0 {
		s.At = r.someTime()
	}
	if s.Outcome == Retry && r.rnd.IntN(6) == 0 {
		s.BlockQueue = time.Now().Add(3 * time.Second)
	}
	want := r.m.settle(h.u, h.l, s, time.Now())
	answers, err := r.f.Settle(bg, []Settlement{s})
	if err != nil {
		return err
	}
	r.note("settle %s by %d at %v: %v", h.l.URL, s.Outcome, s.At, answers)
	if answers[0] != want {
		return breaks(invSettle, "%s settled by %d: got %v; want %v", h.l.URL, s.Outcome, answers[0], want)
	}
	return nil
}
