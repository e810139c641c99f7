package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
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

	// Fetched is the result of the fetch, also where the lease is over. The default is
	// nothing.
	Fetched *Fetched

	// Of a lease that the frontier does not hand out: see Frontier.unwanted.
	reason  Reason // why it is dropped
	lowered bool   // it is put back, and the lease doesn't count
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

// Done completes a lease: the URL stays seen. An expired lease is still accepted, once, unless
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
	for i := range settlements {
		if s := &settlements[i]; s.Lease == nil {
			return nil, fault.As(store.ErrInvalid, "cannot settle: settlement %d has no lease", i)
		} else if s.Outcome > Extend {
			return nil, fault.As(store.ErrInvalid, "cannot settle %q: there is no outcome %d", s.Lease.URL, s.Outcome)
		}
	}
	return f.settle(ctx, settlements)
}

func (f *Frontier) settle(ctx context.Context, settlements []Settlement) ([]Settled, error) {
	parts, invalid, err := f.parts(ctx, len(settlements), func(i int) string { return settlements[i].Lease.Crawl }, false)
	if err == nil && len(invalid) > 0 {
		_, err = f.crawl(ctx, settlements[invalid[0]].Lease.Crawl, false) // which says why
	}
	if err != nil {
		return nil, err
	}
	answers := make([]Settled, len(settlements))
	err = eachPart(ctx, parts, func(ctx context.Context, p part) error { return f.settlePart(ctx, &p, settlements, answers) })
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// settlePart settles the leases of one crawl.
func (f *Frontier) settlePart(ctx context.Context, p *part, all []Settlement, answers []Settled) error {
	now := time.Now()
	out := make([]store.Settlement, p.n)
	for k := range out {
		s := all[p.place(k)]
		if s.Outcome == Retry || s.Outcome == Recrawl || s.Outcome == Release || s.Meta != nil {
			var err error
			if s.Lease, err = f.whole(ctx, p.crawl, s.Lease); err != nil {
				return err
			}
		}
		out[k], answers[p.place(k)] = f.settlement(&s, now)
	}
	statuses, err := f.store.Settle(ctx, p.crawl.stored, out)
	if err != nil {
		return fmt.Errorf("cannot settle %d leases of crawl %q: %w", len(out), p.crawl.name, err)
	}
	f.rooms.wake(p.crawl.name)
	for k, status := range statuses {
		if status != store.Settled {
			answers[p.place(k)] = Stale
		}
		s := &all[p.place(k)]
		f.reportFetched(s.Fetched, s.Lease.URL, now)
	}
	return nil
}

// whole returns a lease with everything that the store keeps of it, since its holder may have rebuilt it
// from key and token. A lease that is over is returned unchanged: the store will refuse its settlement.
func (f *Frontier) whole(ctx context.Context, c *crawl, l *Lease) (*Lease, error) {
	if l.whole {
		return l, nil
	}
	e, err := f.store.Lookup(ctx, c.stored, l.Key)
	if errors.Is(err, store.ErrNotFound) || err == nil && e.State != store.Leased {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look up a lease: %w", err)
	}
	full, err := leaseOf(&store.Lease{Entry: e, Token: l.Token}, l.Started)
	if err != nil {
		return nil, err
	}
	full.Attempts = cmp.Or(l.Attempts, full.Attempts) // its holder's word
	return full, nil
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
		out.Outcome, out.NewRound = store.Requeue, true
	case Release:
		out.Outcome, out.Due, out.NewRound = store.Requeue, time.Time{}, s.lowered
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

// Fetched is the result of a fetch. Reported with a [Settlement] or a [Known], it is passed to
// [Options.OnFetched], where rules are judged by it.
type Fetched struct {
	// URL as it was fetched. The default is that of the lease, or the known one's.
	URL string
	// Time of the fetch. The default is now.
	Time time.Time
	// Status of HTTP. The default, 0, is unknown.
	Status int
	// Digest of the content, with or without "sha1:" before it, in hex or base32, but always
	// in the same form. The default, "", is unknown.
	Digest string
	// Redirect is where the fetch was redirected to. The default, "", is nowhere.
	Redirect string
	// Canonical is the canonical link that the response declares, absolute (package
	// frontier/declared). The default is none.
	Canonical string
	// NoVarySearch is its No-Vary-Search field. The default is none.
	NoVarySearch string
	// CleanParam are the Clean-param rules of a robots.txt, a line each. The default is none.
	CleanParam string
}

// reportFetched passes what a fetch gave to OnFetched.
func (f *Frontier) reportFetched(r *Fetched, url string, now time.Time) {
	if r == nil || f.opt.OnFetched == nil {
		return
	}
	is := *r
	is.URL = cmp.Or(is.URL, url)
	if is.Time.IsZero() {
		is.Time = now
	}
	if is.URL != "" {
		f.opt.OnFetched(is)
	}
}
