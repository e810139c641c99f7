package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/captures"
)

// Outcome is what becomes of a leased URL.
type Outcome uint8

// The outcomes of a Settlement.
const (
	Done       Outcome = iota // fetched: it stays seen
	Retry                     // failed: again after the back-off or At, dropped after too many failures
	Recrawl                   // fetched: again at At, in a new round
	Drop                      // given up: seen, counted as dropped
	Release                   // not tried: again immediately
	Extend                    // still being fetched: held until At, or for Options.Lease from now
	Defer                     // its host said "not now" (429, 503): again after the back-off or At, not a failure
	Redirected                // it led to another page, which its holder has added: seen, and no page
)

// Settlement is the outcome of one lease.
type Settlement struct {
	Lease   *Lease
	Outcome Outcome
	// At is when the URL is due again (Retry, Defer, Recrawl) or when the lease ends (Extend). The
	// default is the back-off for Retry and Defer, the schedule of Options.RecrawlLatest for Recrawl, and Options.Lease from
	// now for Extend.
	At time.Time
	// BlockQueue blocks the whole queue until then, as a Retry-After requests. It shortens no
	// block. A Retry with it is a Defer. The default is no block.
	BlockQueue time.Time
	// Meta replaces the caller's data. The default, nil, keeps it.
	Meta []byte
	// Priority replaces the priority. The default, nil, keeps it.
	Priority *uint8

	// Fetched is the result of the fetch, also where the lease is over. A redirect in it is not followed: see [Frontier.Redirect]. A Retry whose Status is 429
	// or 503 is a Defer. The default is nothing.
	Fetched *Fetched

	target store.Key // of Redirected, if it is known

	// Of a lease that the frontier does not hand out: see Frontier.unwanted.
	reason    Reason // why it is dropped
	uncounted bool   // it is put back, and the lease doesn't count
}

// Settled is the answer to a Settlement.
type Settled uint8

// The answers of Settle.
const (
	OK          Settled = iota // as asked
	GaveUp                     // Retry, Defer or Release reached its bound: the URL was dropped
	Stale                      // the lease is over (see ErrStale): nothing changed
	AlreadyDone                // the result of an earlier lease came late, and had settled the URL: nothing changed
)

// String returns "ok", "gave-up", "stale" or "already-done".
func (s Settled) String() string {
	return [...]string{"ok", "gave-up", "stale", "already-done"}[min(s, AlreadyDone)]
}

// OneByOne has the methods of Frontier and of client.Client that take one URL or one lease.
type OneByOne struct{ of Interface }

// NewOneByOne returns them for a frontier or client, which does the work by its AddBatch and Settle.
func NewOneByOne(of Interface) OneByOne { return OneByOne{of} }

// Add offers one URL of the crawl of Options.Crawl. It is AddBatch for one.
func (o OneByOne) Add(ctx context.Context, url string) (Result, error) {
	results, err := o.of.AddBatch(ctx, []Link{{URL: url}})
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// Done completes a lease: the URL stays seen. Like Recrawl and Redirect it is accepted even after the lease
// expired and the URL was handed out again, until the round ends, since the page was read. The other lease
// then gets [ErrAlreadyDone]. Retry, Drop and Release are accepted from the latest lease only; otherwise
// the error is [ErrStale]. A crawler ignores both errors: the URL has another fetcher, or is done.
// To settle a page that was fetched while ctx ended, pass context.WithoutCancel(ctx).
func (o OneByOne) Done(ctx context.Context, l *Lease) error {
	_, err := o.settleOne(ctx, Settlement{Lease: l, Outcome: Done})
	return err
}

// Retry puts a URL back after a failure: until at, or, if that is zero, for the
// back-off of its failures ([Options.RetryAfter]). When it has failed too often ([Options.Attempts]) it is
// dropped, and again is false.
func (o OneByOne) Retry(ctx context.Context, l *Lease, at time.Time) (again bool, err error) {
	s, err := o.settleOne(ctx, Settlement{Lease: l, Outcome: Retry, At: at})
	return err == nil && s == OK, err
}

// Recrawl completes a lease and queues its URL for another time; with a zero one for that of [Options.RecrawlLatest], or, without that, at once: a loop
// that does so for each page has no end.
func (o OneByOne) Recrawl(ctx context.Context, l *Lease, at time.Time) error {
	_, err := o.settleOne(ctx, Settlement{Lease: l, Outcome: Recrawl, At: at})
	return err
}

// Drop abandons a URL: it stays seen, and is counted as dropped.
func (o OneByOne) Drop(ctx context.Context, l *Lease) error {
	_, err := o.settleOne(ctx, Settlement{Lease: l, Outcome: Drop})
	return err
}

// Release puts back a URL that was not fetched, as at a shutdown. It can be leased again
// immediately. Releases are no failures: [Options.MaxReleased] is their bound.
func (o OneByOne) Release(ctx context.Context, l *Lease) error {
	_, err := o.settleOne(ctx, Settlement{Lease: l, Outcome: Release})
	return err
}

func (o OneByOne) settleOne(ctx context.Context, s Settlement) (Settled, error) {
	answers, err := o.of.Settle(ctx, []Settlement{s})
	if err != nil {
		return 0, err
	}
	return answers[0], answers[0].err(s.Lease)
}

// err is the error of a call that settles one lease.
func (s Settled) err(l *Lease) error {
	switch s {
	case Stale:
		return fmt.Errorf("cannot settle %q of crawl %q: %w", l.URL, l.Crawl, ErrStale)
	case AlreadyDone:
		return fmt.Errorf("cannot settle %q of crawl %q: %w", l.URL, l.Crawl, ErrAlreadyDone)
	}
	return nil
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
		if err := settlements[i].check(); err != nil {
			return nil, err
		}
	}
	return f.settle(ctx, settlements)
}

func (s *Settlement) check() error {
	switch {
	case s.Lease == nil:
		return errNoLease
	case s.Outcome > Redirected:
		return fault.As(store.ErrInvalid, "cannot settle %q: there is no outcome %d", s.Lease.URL, s.Outcome)
	case noStatus(s.Fetched):
		return fault.As(store.ErrInvalid, "cannot settle %q: got status %d; want 0 to 999", s.Lease.URL, s.Fetched.Status)
	case len(s.Meta) > MaxMeta:
		return fault.As(store.ErrInvalid, "cannot settle %.200q: got %d bytes of metadata; want at most %d", s.Lease.URL, len(s.Meta), MaxMeta)
	case s.Priority != nil && *s.Priority > store.MaxPriority:
		return fault.As(store.ErrInvalid, "cannot settle %q: got priority %d; want 0 to %d", s.Lease.URL, *s.Priority, store.MaxPriority)
	}
	return nil
}

var errNoLease = fault.As(store.ErrInvalid, "cannot settle: there is no lease")

func (f *Frontier) settle(ctx context.Context, settlements []Settlement) ([]Settled, error) {
	parts, invalid, err := f.parts(ctx, len(settlements), func(i int) string { return settlements[i].Lease.Crawl }, false)
	if err == nil && len(invalid) > 0 {
		_, err = f.crawl(ctx, settlements[invalid[0]].Lease.Crawl, false) // which says why
	}
	if err != nil {
		return nil, err
	}
	answers := make([]Settled, len(settlements))
	err = each(ctx, parts, func(ctx context.Context, p part) error { return f.settlePart(ctx, &p, settlements, answers) })
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// ending is a settlement on its way through the store.
type ending struct {
	*Settlement        // as its holder made it
	lease       *Lease // with what the store has of it
	gaveUp      Reason // why the frontier drops its URL, "" if it does not
	store       store.Settlement
	answer      *Settled
}

// settlePart settles the leases of one crawl.
func (f *Frontier) settlePart(ctx context.Context, p *part, all []Settlement, answers []Settled) error {
	ends := make([]ending, len(p.at))
	for k, at := range p.at {
		ends[k] = ending{Settlement: &all[at], lease: all[at].Lease, answer: &answers[at]}
	}
	if err := f.completeLeases(ctx, p.crawl, ends); err != nil {
		return err
	}
	return f.settleEndings(ctx, p.crawl, ends)
}

// settleEndings settles leases that are complete, as far as they have to be, in one step of the store.
func (f *Frontier) settleEndings(ctx context.Context, c *crawl, ends []ending) error {
	now, out := time.Now(), make([]store.Settlement, len(ends))
	for k := range ends {
		f.prepareEnding(c, &ends[k], now)
		out[k] = ends[k].store
	}
	statuses, err := f.store.Settle(ctx, c.stored, out)
	if err != nil {
		return fmt.Errorf("cannot settle %d leases of crawl %q: %w", len(out), c.name, err)
	}
	waits := make(map[string]store.QueueChange)
	for k, status := range statuses {
		f.noteEnding(c, &ends[k], status, waits, now)
	}
	for queue, change := range waits {
		if err := f.store.Configure(ctx, c.stored, queue, change); err != nil {
			f.opt.Logger.Warn("cannot set how long a queue waits for its host", "crawl", c.name, "queue", queue, "error", err)
		}
	}
	f.rooms.wake(c.name)
	f.forgetExcluded(ctx, c, ends, statuses)
	return nil
}

// completeLeases completes, in one look-up, the leases that came by wire and whose records are needed: Done and Extend do without.
func (f *Frontier) completeLeases(ctx context.Context, c *crawl, ends []ending) error {
	var keys []store.Key
	var of []*ending
	for k := range ends {
		if e := &ends[k]; !e.lease.complete && (e.Outcome != Done && e.Outcome != Extend || e.Meta != nil) {
			keys, of = append(keys, e.lease.Key), append(of, e)
		}
	}
	entries, err := f.lookup(ctx, c, keys...)
	if errors.As(err, new(*store.DamagedKeys)) { // those the step refuses
		err = nil
	}
	for k := 0; k < len(of) && err == nil; k++ {
		of[k].lease, err = of[k].lease.completed(entries[k])
	}
	return err
}

// prepareEnding puts a settlement into the store's terms.
func (f *Frontier) prepareEnding(c *crawl, e *ending, now time.Time) {
	s := *e.Settlement
	s.Lease = e.lease
	e.store, *e.answer = f.settlement(&s, now)
	if e.gaveUp = s.reason; s.isNotFound() && f.respell(c, &s, &e.store) {
		*e.answer, e.gaveUp = OK, ""
	}
}

// noteEnding answers a settlement as the store did, and counts what came of it.
func (f *Frontier) noteEnding(c *crawl, e *ending, status store.SettleStatus, waits map[string]store.QueueChange, now time.Time) {
	switch {
	case status == store.AlreadyDone:
		*e.answer = AlreadyDone
	case status != store.Settled: // nothing changed: the URL may be done, or leased by another client
		*e.answer = Stale
	default:
		result := *e.Settlement
		result.Lease = e.lease
		f.noteResult(c, &result, waits, now)
		if e.store.URL != "" {
			f.respelled.Add(1)
		} else if e.reason == "" && e.gaveUp != "" { // others are logged, too: see returnTaken
			f.refused.count(refusalKey{crawl: c.name, reason: e.gaveUp, dropped: true}, e.lease.URL)
		}
	}
	f.reportFetched(e.Fetched, e.Lease.URL, now)
}

// forgetExcluded forgets those of the URLs that were queued again, and are excluded. It comes after the step: a rule that came before it
// has looked at the queue already. What fails is for WaitExcluded to tell.
func (f *Frontier) forgetExcluded(ctx context.Context, c *crawl, ends []ending, statuses []store.SettleStatus) {
	if !f.mayExclude() {
		return
	}
	queued := make(map[store.Key]string) // by the last settlement of each
	for k, status := range statuses {
		if e := &ends[k]; status == store.Settled {
			if delete(queued, e.store.Key); e.store.Outcome == store.Requeue {
				queued[e.store.Key] = cmp.Or(e.store.URL, e.lease.URL)
			}
		}
	}
	again := make([]keyedURL, 0, len(queued))
	for key, url := range queued {
		again = append(again, keyedURL{key, url})
	}
	_, err := f.dropExcluded(ctx, c, again)
	f.purges.failed(err)
}

// completed returns the lease with what its URL's entry in the store has, since its holder may have made it again from key and token.
// One of a URL that is done, or unknown, stays as it is: the store will refuse its settlement.
func (l *Lease) completed(e store.Entry) (*Lease, error) {
	if e.State != store.Leased && e.State != store.Queued && e.State != store.Dropped {
		return l, nil
	}
	e.Token = l.Token
	return leaseOf(&e, l.Started)
}

// isDeferral reports whether the host was only busy. Crawlers that have no Defer send Retry with the status
// or with a block of the queue.
func (s *Settlement) isDeferral() bool {
	busy := s.Fetched != nil && (s.Fetched.Status == http.StatusTooManyRequests || s.Fetched.Status == http.StatusServiceUnavailable)
	return s.Outcome == Defer || s.Outcome == Retry && (busy || !s.BlockQueue.IsZero())
}

// settlement puts the policy into the store's terms. Of a URL that is given up it sets the reason.
func (f *Frontier) settlement(s *Settlement, now time.Time) (store.Settlement, Settled) {
	l := s.Lease
	out := store.Settlement{Key: l.Key, Token: l.Token, Due: s.At, Priority: s.Priority, QueueChange: f.queueChange(s, now)}
	r := l.record()
	if s.Meta != nil {
		r.meta = s.Meta
	}
	if s.Fetched != nil && s.Outcome != Done && s.Outcome != Recrawl {
		r.status = s.Fetched.Status
	}
	changed := s.Meta != nil // what the store keeps of the URL, so that it must be written
	switch s.Outcome {
	case Done:
		out.Outcome, out.Late, out.Fetched = store.Complete, true, true
	case Redirected:
		out.Outcome, out.Late, changed = store.Complete, true, changed || l.complete
		if r.reason, r.chain = endedRedirected, nil; s.target != (store.Key{}) {
			r.chain = []store.Key{s.target}
		}
	case Recrawl:
		out.Outcome, out.Late, out.Fetched, out.NewRound = store.Requeue, true, true, true
		r, changed = r.anew(), true // even if this lease is late: another one may have failed since
		if s.At.IsZero() {
			out.After = f.opt.recrawlAfter(r.fetched, s.Fetched, now)
		}
		r.fetched = now.UnixMilli()
	case Drop:
		out.Outcome, out.Failed, changed = store.Drop, s.isFailure(), l.complete
		r.reason = s.reason
	case Extend:
		out.Outcome = store.Extend
		if s.At.IsZero() {
			out.After = f.opt.Lease
		}
	default:
		if s.uncounted {
			out.Outcome, out.Due, out.NewRound = store.Requeue, time.Time{}, l.Attempts == 1
			if !out.NewRound { // the round continues, and this was not an expiry
				r.releases, changed = r.releases+1, true
			}
			break
		}
		changed = true
		if f.putBack(s, &r, &out); out.Outcome == store.Drop {
			s.reason, out.Meta = r.reason, r.replacing()
			out.Failed = s.isFailure()
			return out, GaveUp
		}
	}
	if changed {
		out.Meta = r.replacing()
	}
	return out, OK
}

// isFailure reports whether a URL that is dropped was wanted, and could not be fetched.
func (s *Settlement) isFailure() bool {
	switch s.reason {
	case ReasonExcluded, ReasonReleased:
		return false
	case "":
		return s.Fetched == nil || s.Fetched.Status == 0 || s.Fetched.Status >= 400
	}
	return true
}

// putBack counts the end of a lease whose URL goes back into its queue, or gives the URL up if a bound is
// reached.
func (f *Frontier) putBack(s *Settlement, r *record, out *store.Settlement) {
	var count *int
	var bound int
	switch {
	case s.Outcome == Release:
		count, bound, r.reason = &r.releases, f.opt.MaxReleased, ReasonReleased
		out.Due = time.Time{}
	case s.isDeferral():
		count, bound, r.reason = &r.deferrals, f.opt.MaxDeferred, ReasonDeferred
	default:
		count, bound, r.reason = &r.failures, f.opt.Attempts, ReasonAttempts
	}
	*count++
	if bound > 0 && *count >= bound {
		out.Outcome = store.Drop
		return
	}
	r.reason = ""
	out.Outcome = store.Requeue
	if s.Outcome != Release && s.At.IsZero() {
		out.After = f.opt.backOff(*count)
	}
}

// queueChange returns what a settlement means for its queue, nil for nothing. It
// shortens nothing: neither a block, which an operator or another answer asked for,
// nor the wait after another, slower fetch.
func (f *Frontier) queueChange(s *Settlement, now time.Time) *store.QueueChange {
	wait := f.adaptiveWait(s, now)
	if wait.IsZero() && s.BlockQueue.IsZero() {
		return nil
	}
	c := &store.QueueChange{Later: true}
	if !s.BlockQueue.IsZero() {
		at := s.BlockQueue
		c.BlockedUntil = &at
	}
	if !wait.IsZero() {
		c.NotBefore = &wait
	}
	return c
}

// adaptiveWait returns until when a queue waits after a fetch by Options.Adaptive, zero if it does not.
func (f *Frontier) adaptiveWait(s *Settlement, now time.Time) time.Time {
	if f.opt.Adaptive <= 0 || s.Outcome == Release || s.Outcome == Extend || s.Lease.Started.IsZero() {
		return time.Time{}
	}
	return now.Add(min(time.Duration(f.opt.Adaptive*float64(max(now.Sub(s.Lease.Started), 0))), f.opt.maxAdaptive))
}

// noteResult counts the result of a fetch that changed something, and sets what its queue is to wait then. It does so after the step that
// settled it: a lease that is over says nothing of the host.
func (f *Frontier) noteResult(c *crawl, s *Settlement, waits map[string]store.QueueChange, now time.Time) {
	switch queue, until, ended := f.failing.note(&f.opt, c.name, s, now); {
	case ended:
		if until = f.adaptiveWait(s, now); until.IsZero() {
			until = now
		}
		waits[queue] = store.QueueChange{NotBefore: &until}
	case !until.IsZero():
		waits[queue] = store.QueueChange{NotBefore: &until, Later: true}
	}
}

// Fetched is the result of a fetch. Reported with a [Settlement] or a [Known], it is passed to
// [Options.OnFetched], where rules are judged by it. The default of URL is that of the lease, or the known one's, and
// that of Time is now.
type Fetched = captures.Capture

// noStatus reports whether the status of a fetch is none of HTTP.
func noStatus(f *Fetched) bool { return f != nil && (f.Status < 0 || f.Status > 999) }

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
