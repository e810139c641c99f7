package frontier

import (
	"cmp"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
)

// A host that is down costs each of its URLs all attempts, one after another, while its back-off is that of single URLs. So a
// queue whose fetches fail in a row waits as a whole: after Options.FailingAfter failures, longer each time, up to
// Options.MaxFailingWait; one success ends that, or Configure with a BlockedUntil that is over. The wait is the queue's NotBefore
// in the store, durable and shown; the count of failures is this process's, and begins again with it.
//
// Where several URLs of a queue are leased at a time, their failures come together, or after the wait that the first of them began. All
// were sent before it, so they say nothing of how the host is by its end, and a wait grows only by a lease that came after it.
//
// When the fetcher's own network is down, most hosts fail at once. Nothing is learned of any of them then, so nothing
// grows: see network. Nor does it when one page fails again and again: its host may be fine.

// failing counts the failures in a row of queues.
type failing struct {
	mu     sync.Mutex
	queues map[queueName]*failingQueue // guarded by mu, like the rest
	waits  map[queueName]*failingQueue // those of them that wait as a whole
	leases []leasedKey                 // who reports a success over the wire names the URL alone
	recent [recentResults]result       // a ring
	next   int
}

type failingQueue struct {
	row   int           // failures since the last success, of one URL after another
	last  store.Key     // the URL of the latest
	wait  time.Duration // the latest wait, of the queue as a whole
	until time.Time     // its end
}

// leasedKey says of which queue a URL was leased, and when. Each key has one place in a table, where the next key of that place
// overwrites it: exact counts, which would cost a lease as much as all the rest here, are not worth it. A success that is not known
// any more resets no count.
type leasedKey struct {
	key   store.Key
	queue queueName
	at    time.Time
}

// result is one of the latest results of fetches.
type result struct {
	at     time.Time
	queue  queueName // of a failure
	failed bool
}

const (
	// maxFailing bounds the queues that are counted, and leasesKnown the leases that are remembered: 600 KB, and the names, which may
	// be long: 5 MB at most.
	maxFailing  = 50_000
	leasesKnown = 1 << 13
	// recentResults are those by which a failure of the network is recognized, if they are of the last networkWindow.
	recentResults = 64
	networkWindow = 5 * time.Minute
	// leastFailing is how many queues must fail for it.
	leastFailing = 5
	// failingWait is the first wait; each is twice the one before.
	failingWait = time.Minute
)

// leased remembers of which queues URLs are leased. That begins before a queue fails: a URL leased before may bring the success. Here
// and in note names are copied: they may be parts of an answer of a store, which they would keep in memory.
func (f *failing) leased(leases []*Lease, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leases == nil && len(leases) > 0 {
		f.leases = make([]leasedKey, leasesKnown)
	}
	var name queueName
	for _, l := range leases {
		if name.crawl != l.Crawl {
			name.crawl = strings.Clone(l.Crawl)
		}
		if name.queue != l.Queue {
			name.queue = strings.Clone(l.Queue)
		}
		f.leases[placeOf(&l.Key)] = leasedKey{l.Key, name, now}
	}
}

// placeOf is the place of a key in the table of leases.
func placeOf(k *store.Key) int { return int(binary.LittleEndian.Uint16(k[:]) % leasesKnown) }

// note takes the result of a fetch, and returns the queue of its lease. If it makes the queue wait, until is when; if it ends such a wait,
// ended is true.
func (f *failing) note(opt *Options, crawl string, s *Settlement, now time.Time) (queue string, until time.Time, ended bool) {
	failed, known := s.failed()
	if !known || opt.FailingAfter < 0 {
		return "", time.Time{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	name, sent := queueName{crawl, s.Lease.Queue}, s.Lease.Started
	if f.leases != nil {
		if l := &f.leases[placeOf(&s.Lease.Key)]; l.key == s.Lease.Key && l.queue.crawl == crawl {
			name.queue, sent = cmp.Or(name.queue, l.queue.queue), cmp.Or(sent, l.at)
		}
	}
	if failed {
		name = queueName{strings.Clone(name.crawl), strings.Clone(name.queue)}
		f.recent[f.next] = result{now, name, true}
	} else {
		f.recent[f.next] = result{at: now}
	}
	f.next = (f.next + 1) % recentResults
	q := f.queues[name]
	switch {
	case !failed && q == nil, failed && (name.queue == "" || f.network(now)):
		return name.queue, time.Time{}, false
	case !failed:
		f.forget(name)
		return name.queue, time.Time{}, q.row >= opt.FailingAfter
	case q == nil:
		q = f.add(name)
	}
	if q.row > 0 && q.last == s.Lease.Key { // a page that fails alone; it has a back-off of its own
		return name.queue, time.Time{}, false
	}
	q.last = s.Lease.Key
	if q.row++; q.row < opt.FailingAfter || cmp.Or(sent, now).Before(q.until) {
		return name.queue, time.Time{}, false
	}
	q.wait = min(max(2*q.wait, failingWait), opt.MaxFailingWait)
	q.until, f.waits[name] = now.Add(q.wait), q
	return name.queue, q.until, false
}

// failed reports whether a settlement is of a fetch that the host failed to answer; known is false where it says nothing
// of the host.
func (s *Settlement) failed() (failed, known bool) {
	status := 0
	if s.Fetched != nil {
		status = s.Fetched.Status
	}
	switch s.Outcome {
	case Done, Recrawl, Redirected:
		return false, true
	case Retry:
		return !s.isDeferral() && (status == 0 || status >= 500), status != 429 // a busy host is not down
	case Drop:
		return status >= 500, status != 0
	case Defer:
		return status >= 500, status >= 500
	}
	return false, false
}

// network reports whether it is the fetcher's network that fails: of the latest results, failures are of many queues, and of
// more than there are successes.
func (f *failing) network(now time.Time) bool {
	queues, fine := make(map[queueName]bool), 0
	for _, r := range f.recent {
		switch {
		case r.at.IsZero() || now.Sub(r.at) > networkWindow:
		case r.failed:
			queues[r.queue] = true
		default:
			fine++
		}
	}
	return len(queues) >= leastFailing && len(queues) > fine
}

// add begins to count a queue. If there are too many, it drops the count of another.
func (f *failing) add(name queueName) *failingQueue {
	for other := range f.queues {
		if len(f.queues) < maxFailing {
			break
		}
		f.forget(other)
	}
	q := &failingQueue{}
	f.queues[name] = q
	return q
}

// end begins the count of a queue again.
func (f *failing) end(name queueName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(name)
}

// forgetCrawl drops the counts of a crawl, or with "*" of all.
func (f *failing) forgetCrawl(crawl string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.queues {
		if crawl == "*" || name.crawl == crawl {
			f.forget(name)
		}
	}
}

func (f *failing) forget(name queueName) {
	delete(f.queues, name)
	delete(f.waits, name)
}

// waiting returns the queue of a request that waits as a whole, the first by name if there are several, "" if none does.
func (f *failing) waiting(crawl, queue string, now time.Time) (first string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, q := range f.waits {
		if !q.until.After(now) {
			delete(f.waits, name)
			continue
		}
		asked := (crawl == "*" || name.crawl == crawl) && (queue == "" || name.queue == queue)
		if asked && (first == "" || name.queue < first) {
			first = name.queue
		}
	}
	return first
}

// Failing returns how many fetches of a queue failed in a row, as far as this frontier saw them, and whether they are so many
// that the queue waits as a whole ([Options.FailingAfter]).
func (f *Frontier) Failing(crawl, queue string) (failures int, waits bool) {
	f.failing.mu.Lock()
	defer f.failing.mu.Unlock()
	if q := f.failing.queues[queueName{f.named(crawl), queue}]; q != nil {
		return q.row, f.opt.FailingAfter > 0 && q.row >= f.opt.FailingAfter
	}
	return 0, false
}
