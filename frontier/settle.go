package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Outcome is what becomes of a leased URL.
type Outcome uint8

// The outcomes of a Settlement.
const (
	Done    Outcome = iota // fetched: it stays seen
	Retry                  // failed: again after the back-off or At, dropped after too many attempts
	Recrawl                // fetched: again at At, with a new count of attempts
	Drop                   // given up: seen, counted as dropped
	Release                // not tried: again immediately
	Extend                 // still being fetched: held until At, or for Options.Lease from now
)

// Settlement is the outcome of one lease.
type Settlement struct {
	Lease   *Lease
	Outcome Outcome
	// At is when the URL is due again (Retry, Recrawl) or when the lease ends (Extend). The
	// default is the back-off for Retry, immediately for Recrawl, and Options.Lease from now
	// for Extend.
	At time.Time
	// BlockQueue blocks the whole queue until then, as a Retry-After requests. It shortens no
	// block. The default is no block.
	BlockQueue time.Time
	// Meta replaces the caller's data. The default, nil, keeps it.
	Meta []byte
	// Priority replaces the priority. The default, nil, keeps it.
	Priority *uint8

	reason  Reason // why the frontier drops it
	lowered bool   // Release by the frontier: the lease doesn't count
	// Fetched is the result of the fetch, also where the lease is over. The default is
	// nothing.
	Fetched *Fetched
}

// Settled is the answer to a Settlement.
type Settled uint8

// The answers of Settle.
const (
	OK     Settled = iota // as asked
	GaveUp                // Retry had no attempt left: the URL was dropped
	Stale                 // the lease is over (see ErrStale): nothing changed
)

// String returns "ok", "gave-up" or "stale".
func (s Settled) String() string { return [...]string{"ok", "gave-up", "stale"}[min(s, Stale)] }

// Done completes a lease: the URL stays seen. A lease that ran out is still accepted, once, unless
// the URL was handed out again. Then Done, like the other methods that settle one lease, returns
// [ErrStale], which a crawler ignores: the URL has another fetcher. To settle a page that was
// fetched while ctx ended, pass context.WithoutCancel(ctx).
func (f *Frontier) Done(ctx context.Context, l *Lease) error {
	_, err := f.settleOne(ctx, Settlement{Lease: l, Outcome: Done})
	return err
}

// Retry puts a URL back after a failure: until at, or, if that is zero, for the
// back-off of its attempts ([Options.RetryAfter]). When it has no attempt left ([Options.Attempts]) it is
// dropped, and again is false.
func (f *Frontier) Retry(ctx context.Context, l *Lease, at time.Time) (again bool, err error) {
	s, err := f.settleOne(ctx, Settlement{Lease: l, Outcome: Retry, At: at})
	return err == nil && s == OK, err
}

// Recrawl completes a lease and queues its URL for another time.
func (f *Frontier) Recrawl(ctx context.Context, l *Lease, at time.Time) error {
	_, err := f.settleOne(ctx, Settlement{Lease: l, Outcome: Recrawl, At: at})
	return err
}

// Drop abandons a URL: it stays seen, and is counted as dropped.
func (f *Frontier) Drop(ctx context.Context, l *Lease) error {
	_, err := f.settleOne(ctx, Settlement{Lease: l, Outcome: Drop})
	return err
}

// Release puts back a URL that was not fetched, as at a shutdown. It can be leased again
// immediately, and the lease still counts as one of Options.Attempts.
func (f *Frontier) Release(ctx context.Context, l *Lease) error {
	_, err := f.settleOne(ctx, Settlement{Lease: l, Outcome: Release})
	return err
}

func (f *Frontier) settleOne(ctx context.Context, s Settlement) (Settled, error) {
	answers, err := f.Settle(ctx, []Settlement{s})
	if err != nil {
		return 0, err
	}
	if answers[0] == Stale {
		return Stale, fmt.Errorf("cannot settle %q: %w", s.Lease.URL, ErrStale)
	}
	return answers[0], nil
}

// Settle settles many leases in one durable step per crawl, and returns an
// answer for each, in order. On an error there are no answers, and the leases
// of one crawl were settled all or not at all.
func (f *Frontier) Settle(ctx context.Context, settlements []Settlement) ([]Settled, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	return f.settle(ctx, settlements)
}

func (f *Frontier) settle(ctx context.Context, settlements []Settlement) ([]Settled, error) {
	now := time.Now()
	answers := make([]Settled, len(settlements))
	byCrawl := make(map[string][]int, 1)
	for i, s := range settlements {
		stored, err := f.stored(ctx, s.Lease.Crawl)
		if err != nil {
			return nil, err
		}
		byCrawl[stored] = append(byCrawl[stored], i)
	}
	crawls := slices.Collect(maps.Keys(byCrawl))
	err := stepPerCrawl(ctx, crawls, func(ctx context.Context, stored string) (func(), error) {
		return f.settleCrawl(ctx, stored, settlements, byCrawl[stored], answers, now)
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// settleCrawl settles the leases at some places of all, those of one crawl.
func (f *Frontier) settleCrawl(ctx context.Context, stored string, all []Settlement, places []int, answers []Settled, now time.Time) (report func(), err error) {
	out := make([]store.Settlement, len(places))
	for i, p := range places {
		s, err := f.completed(ctx, stored, all[p])
		if err != nil {
			return nil, err
		}
		out[i], answers[p] = f.settlement(&s, now)
	}
	statuses, err := f.store.Settle(ctx, stored, out)
	if err != nil {
		return nil, fmt.Errorf("cannot settle %d leases of crawl %q: %w", len(out), shown(stored), err)
	}
	f.rooms.wake(shown(stored))
	return func() {
		for i, p := range places {
			f.reportFetched(all[p].Fetched, all[p].Lease.URL, now)
			if statuses[i] != store.Settled {
				answers[p] = Stale
				continue
			}
			f.emitSettled(&all[p], answers[p], now)
		}
	}, nil
}

// completed fills in a lease that was made again from its name and token, where
// the settlement needs more than these.
func (f *Frontier) completed(ctx context.Context, stored string, s Settlement) (Settlement, error) {
	needs := s.Outcome == Retry || s.Outcome == Recrawl || s.Outcome == Release || s.Meta != nil
	if s.Lease.whole || !needs {
		return s, nil
	}
	e, err := f.store.Lookup(ctx, stored, s.Lease.Key)
	if errors.Is(err, store.ErrNotFound) || err == nil && e.State != store.Leased {
		return s, nil // the lease is stale, which the store will say
	}
	if err != nil {
		return s, fmt.Errorf("cannot look up a lease: %w", err)
	}
	l, err := leaseOf(&store.Lease{Entry: e, Token: s.Lease.Token}, s.Lease.Started)
	if err != nil {
		return s, err
	}
	l.Attempts = cmp.Or(s.Lease.Attempts, l.Attempts) // its holder's word
	s.Lease = l
	return s, nil
}

// settlement puts the policy into the store's terms.
func (f *Frontier) settlement(s *Settlement, now time.Time) (store.Settlement, Settled) {
	l := s.Lease
	out := store.Settlement{Key: l.Key, Token: l.Token, Due: s.At, Priority: s.Priority}
	answer := OK
	switch s.Outcome {
	case Done:
		out.Outcome = store.Complete
	case Drop:
		out.Outcome = store.Drop
	case Retry:
		out.Outcome = store.Requeue
		if f.opt.exhausted(l.Attempts) {
			out.Outcome, answer = store.Drop, GaveUp
		} else if s.At.IsZero() {
			out.After = f.opt.backOff(l.Attempts)
		}
	case Recrawl:
		out.Outcome, out.ResetAttempts = store.Requeue, true
	case Release:
		out.Outcome, out.Due, out.ResetAttempts = store.Requeue, time.Time{}, s.lowered
	case Extend:
		out.Outcome = store.Extend
		if s.At.IsZero() {
			out.After = f.opt.Lease
		}
	}
	out.Meta = s.record(out.Outcome)
	out.QueueChange = f.queueChange(s, now)
	return out, answer
}

// record returns what replaces the frontier's data of a URL, nil for no change.
func (s *Settlement) record(outcome store.Outcome) []byte {
	r := s.Lease.record()
	returned := s.Outcome == Retry || s.Outcome == Release && !s.lowered
	anew := s.Outcome == Recrawl && r.hops+r.returned > 0
	if s.Meta == nil && !returned && !anew {
		return nil
	}
	if s.Meta != nil {
		r.meta = s.Meta
	}
	switch {
	case returned:
		r.returned++
	case s.Outcome == Recrawl:
		r.hops, r.returned = 0, 0
	}
	return r.replacing()
}

// queueChange returns what a settlement means for its queue, nil for nothing. It
// shortens nothing: neither a block, which an operator or another answer asked for,
// nor the wait after another, slower fetch.
func (f *Frontier) queueChange(s *Settlement, now time.Time) *store.QueueChange {
	c := store.QueueChange{Later: true}
	if !s.BlockQueue.IsZero() {
		c.BlockedUntil = &s.BlockQueue
	}
	fetched := s.Outcome != Release && s.Outcome != Extend
	if f.opt.Adaptive > 0 && fetched && !s.Lease.Started.IsZero() {
		wait := time.Duration(f.opt.Adaptive * float64(max(now.Sub(s.Lease.Started), 0)))
		at := now.Add(min(wait, f.opt.maxAdaptive))
		c.NotBefore = &at
	}
	if c == (store.QueueChange{Later: true}) {
		return nil
	}
	return &c
}

var settledEvents = [...]EventKind{Done: EventDone, Retry: EventRetried, Recrawl: EventRecrawl, Drop: EventDropped, Release: EventReleased, Extend: 0}

func (f *Frontier) emitSettled(s *Settlement, answer Settled, now time.Time) {
	if s.reason != "" {
		f.refused.addDropped(s.Lease.Crawl, s.reason, s.Lease.URL)
	}
	if f.opt.OnEvent == nil || s.lowered || s.Outcome == Extend || int(s.Outcome) >= len(settledEvents) {
		return
	}
	l := s.Lease
	e := Event{Kind: settledEvents[s.Outcome], Crawl: l.Crawl, Queue: l.Queue, URL: l.URL, Key: l.Key, Reason: s.reason}
	if answer == GaveUp {
		e.Kind, e.Reason = EventDropped, ReasonAttempts
	}
	if !l.Started.IsZero() {
		e.Took = max(now.Sub(l.Started), 0)
	}
	f.emit(e)
}
