package frontier

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/store"
)

// record is what the frontier keeps with the URL of a lease.
func (l *Lease) record() record {
	return record{depth: l.Depth, hops: l.Redirects, disc: l.Discriminator, returned: l.returned, exempt: l.exempt, meta: l.Meta}
}

// expired is how many leases before this one ran out: those that were not given back.
func (l *Lease) expired() int { return max(l.Attempts-1-l.returned, 0) }

// reasonToDrop returns why a URL that was taken is not handed out, or "": it may kill its
// fetchers, or it is excluded by now.
func (f *Frontier) reasonToDrop(p *preparer, l *Lease, maxExpired int) Reason {
	if maxExpired > 0 && l.expired() >= maxExpired {
		return ReasonExpired
	}
	if f.opt.Exclude != nil && p.resolve(l.Crawl) && p.isExcluded(l.URL) {
		return ReasonExcluded
	}
	return ""
}

// isExcluded reports whether a URL of the crawl that p resolved is excluded. One that the
// rules, which may have changed, refuse is not.
func (p *preparer) isExcluded(url string) bool {
	form, ok := p.canonical(url)
	return ok && p.f.excluded(form)
}

// canonical returns the canonical form of a URL in the crawl that p resolved; ok is false if the
// rules, which may have changed, refuse it.
func (p *preparer) canonical(url string) (form string, ok bool) {
	if p.crawl.exact {
		return url, true
	}
	var err error
	p.scratch, err = p.f.profileFor(p.crawl).AppendCanonical(p.scratch[:0], view(url))
	return string(p.scratch), err == nil
}

// isLowered reports whether a URL that was taken is lowered by now, and was not when it was queued.
// Once put back, it has priority 0 and is not looked at again.
func (f *Frontier) isLowered(p *preparer, l *Lease) bool {
	if f.opt.Lower == nil || l.exempt || l.Priority == 0 || l.Attempts > 1 || !p.resolve(l.Crawl) {
		return false
	}
	form, ok := p.canonical(l.URL)
	return ok && f.opt.Lower(form, true)
}

// returnTaken drops or puts back URLs that were taken and are not to be handed out. It returns
// when to ask again: where they filled the answer, other URLs may be due. If it fails, the leases
// run out by themselves, and URLs to drop are dropped when they are taken again.
func (f *Frontier) returnTaken(ctx context.Context, unwanted []Settlement, next time.Time) (time.Time, error) {
	if len(unwanted) == 0 {
		return next, nil
	}
	for i := range unwanted {
		unwanted[i].Lease.Started = time.Time{} // there was no fetch
		if unwanted[i].reason == ReasonExcluded {
			f.purges.add(f, unwanted[i].Lease.Crawl, unwanted[i].Lease.Queue)
		}
	}
	answers, err := f.settle(ctx, unwanted)
	if err != nil {
		if next.IsZero() {
			next = time.Now().Add(time.Second) // a store that fails now may continue to fail
		}
		return next, err
	}
	var dropped []Event
	for i, a := range answers {
		if s := &unwanted[i]; a != Stale && !s.lowered {
			l := s.Lease
			dropped = append(dropped, Event{Kind: EventDropped, Crawl: l.Crawl, Queue: l.Queue, URL: l.URL, Key: l.Key, Reason: s.reason})
		}
	}
	f.logDropped(dropped)
	if next.IsZero() {
		next = time.Now()
	}
	return next, nil
}

// loggedExamples is how many URLs of those dropped in one step are logged.
const loggedExamples = 10

// logDropped logs URLs that the frontier dropped by itself: no caller is answered about them.
func (f *Frontier) logDropped(dropped []Event) {
	type kind struct {
		crawl  string
		reason Reason
	}
	counts := make(map[kind]int, 1)
	examples := make(map[kind][]string, 1)
	for _, e := range dropped {
		k := kind{e.Crawl, e.Reason}
		if counts[k]++; counts[k] <= loggedExamples {
			examples[k] = append(examples[k], e.URL)
		}
	}
	for k, n := range counts {
		f.opt.Logger.Warn("URLs were dropped instead of leased", "reason", k.reason, "crawl", k.crawl, "urls", n, "examples", examples[k])
	}
}

// purgeAtOnce is how many excluded URLs are dropped in one step.
const purgeAtOnce = 1000

// purgeQueue drops the queued URLs of a queue that are excluded. Taking them one by one would
// cost the queue its delay each time, and keep other URLs waiting.
func (f *Frontier) purgeQueue(q queueName) {
	ctx := context.Background()
	p := preparer{f: f}
	if !p.resolve(q.crawl) {
		return
	}
	var excluded []Event
	for e, err := range f.store.Entries(ctx, p.crawl.stored, q.queue) {
		if err != nil || f.isClosing() {
			break
		}
		if e.State == store.Queued && p.isExcluded(e.URL) {
			excluded = append(excluded, Event{Kind: EventDropped, Crawl: q.crawl, Queue: q.queue, URL: e.URL, Key: e.Key, Reason: ReasonExcluded})
		}
		if len(excluded) == purgeAtOnce {
			if f.dropQueued(ctx, p.crawl.stored, excluded) != nil {
				return
			}
			excluded = excluded[:0]
		}
	}
	_ = f.dropQueued(ctx, p.crawl.stored, excluded) // those that stay are dropped when they are taken
}

// dropQueued drops URLs that are not leased, and logs them.
func (f *Frontier) dropQueued(ctx context.Context, stored string, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	drops := make([]store.Settlement, len(events))
	for i, e := range events {
		drops[i] = store.Settlement{Key: e.Key, Outcome: store.Drop}
	}
	statuses, err := f.store.Settle(ctx, stored, drops)
	if err != nil {
		return err
	}
	f.rooms.wake(shown(stored))
	var dropped []Event
	for i, status := range statuses {
		if status != store.Settled {
			continue // it was taken, and dropped, in the meantime
		}
		f.refused.addDropped(events[i].Crawl, events[i].Reason, events[i].URL)
		f.emit(events[i])
		dropped = append(dropped, events[i])
	}
	f.logDropped(dropped)
	return nil
}
