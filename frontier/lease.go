package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// The way of a URL to a fetcher, and back:
//
//	takeOnce        one step of the store leases due URLs
//	returnTaken     one step forgets, drops or puts back those that may no longer be fetched (unwanted)
//	                the others go to the caller, or to those that wait in a room (wait.go)
//	completeLeases  one look-up of settled leases that came back by wire, where what the store has of them matters (settle.go)
//	prepareEnding   each outcome in the store's terms: back-off, bounds, another spelling (respell.go)
//	settleEndings   one atomic and durable step of the store, which alone decides which leases count
//	noteEnding      answers, counts, and how long a queue waits for its host
//	forgetExcluded  one step, if URLs that are queued again were excluded meanwhile
//
// A lease that nobody settles ends by itself: the store hands its URL out again.

// Lease is a URL in the hands of a fetcher. Until Expires no other client gets it.
// Settle it by [Frontier.Done] or one of its siblings.
type Lease struct {
	URL           string // to be fetched unchanged
	Crawl         string
	Queue         string
	Key           store.Key
	Meta          []byte // as given with the URL
	Depth         int
	Redirects     int // hops that led here
	Discriminator string
	Priority      uint8
	respelled     bool // as the store's entry has it
	Attempts      int  // times it was leased in this round, this one included
	// Failures, Deferrals, Releases and Expiries count how the earlier leases of this round ended:
	// by Retry, by Defer, by Release, and without a result. A round begins when the URL is added,
	// forced or recrawled.
	Failures, Deferrals, Releases, Expiries int

	Created time.Time
	Expires time.Time
	// Started is when the fetch began, for the adaptive delay: the time of the
	// lease, or what its holder sets.
	Started time.Time
	// complete is set of a lease with all that the store has of it: its holder did not make it again from the wire.
	complete bool
	// kept is then the URL's record, nil where the fields above have all of it. What they have counts there.
	kept *record
	// Token names the lease in the store. If a lease travels by wire, Crawl, Key
	// and Token alone are enough to settle it.
	Token uint64
}

// LeaseRequest selects what to lease. The zero value asks for one URL of any queue.
type LeaseRequest struct {
	// Crawl is the crawl to take from, "*" for all. The default is that of
	// [Options.Crawl].
	Crawl string
	// Queue is the only queue to take from; Crawl must then be named. The
	// default is any, in fair rotation.
	Queue string
	// Max bounds the answer. The default is 1.
	Max int
	// MaxBytes ends the answer: its last URL is the first with which all texts and data reach
	// MaxBytes. A store in another process may send more. The default is no bound.
	MaxBytes int64
	// MaxQueues bounds the queues taken from. The default is no bound.
	MaxQueues int
	// MaxPerQueue bounds the URLs of one queue in an answer, however long its delay:
	// the fetcher must then space them. The default is 1.
	MaxPerQueue int
	// Lease is how long the URLs are held. The default is Options.Lease.
	Lease time.Duration
	// Delay is the delay of queues that have none of their own; negative is
	// none. The default is Options.Delay.
	Delay time.Duration
	// MaxInFlight is the bound of queues that have none of their own; negative
	// is none. The default is Options.MaxInFlight.
	MaxInFlight int
	// Client names who leases, in at most 64 bytes (store.MaxClient), so that its leases can be freed when it died: see [Query.Client].
	// It is kept with the lease. Clients with different names wait apart. The default is none.
	Client string
	// MaxExpired is how many leases of a URL may expire before it is dropped; negative is
	// no bound. The default is Options.MaxExpired.
	MaxExpired int
}

// Idle says why an answer has no leases, and when there may be some.
type Idle struct {
	// State is why there are no leases: finished, paused, waiting, limited, blocked or delayed. The
	// comments of its values say what each means. It is store.Served in an answer with leases.
	State store.TakeState
	// Next is when another call may return more if nothing is added, settled or changed before. It is
	// zero if time alone changes nothing, or the answer is full.
	Next time.Time
	// Holding counts the queues that hold something, in an answer without leases.
	store.Holding
	// FailingQueue is the first by name of the queues asked for that wait as a whole, since their fetches failed
	// ([Options.FailingAfter]), "" if none does. Next may be the time of another.
	FailingQueue string
}

// String says it in words: "delayed until 2026-11-27T12:00:05Z; 3 queues hold URLs, 1 paused; example.com waits, since its fetches failed".
func (i Idle) String() string {
	var out strings.Builder
	out.WriteString(i.State.String())
	if !i.Next.IsZero() && (i.State == store.Blocked || i.State == store.Delayed || i.State == store.Waiting) {
		out.WriteString(" until " + i.Next.UTC().Format(time.RFC3339))
	}
	if i.Queues > 0 {
		hold := "queues hold"
		if i.Queues == 1 {
			hold = "queue holds"
		}
		fmt.Fprintf(&out, "; %d %s URLs", i.Queues, hold)
	}
	for _, of := range []struct {
		n    int64
		what string
	}{{i.Paused, "paused"}, {i.Limited, "at their limit"}, {i.Blocked, "blocked"}} {
		if of.n > 0 {
			fmt.Fprintf(&out, ", %d %s", of.n, of.what)
		}
	}
	if i.FailingQueue != "" {
		out.WriteString("; " + i.FailingQueue + " waits, since its fetches failed")
	}
	return out.String()
}

// ErrLimited ends loops over leases when every URL left is in a queue or crawl that has reached its limit, or in a paused
// one beside these. Raise the limit ([Frontier.Configure]) and start another loop to go on.
var ErrLimited = errors.New("the crawl has reached its limit")

// ends reports whether a loop over leases that waits for the end of the crawl ends so.
func (i Idle) ends() bool { return i.State == store.Finished || i.State == store.Limited }

// Lease hands out URLs that may be fetched now, at most req.Max, in fair rotation of their
// queues. It does not wait: there may be none, and idle says why. The leases are durable when it returns.
func (f *Frontier) Lease(ctx context.Context, req LeaseRequest) (leases []*Lease, idle Idle, err error) {
	if err := f.enter(); err != nil {
		return nil, Idle{}, err
	}
	defer f.leave()
	return f.take(ctx, req)
}

// maxRounds is how often take asks the store when it must drop or put back all that it got.
const maxRounds = 16

func (f *Frontier) take(ctx context.Context, req LeaseRequest) ([]*Lease, Idle, error) {
	from, err := f.takeRequest(ctx, req)
	if err != nil {
		return nil, Idle{}, err
	}
	maxExpired := cmp.Or(req.MaxExpired, f.opt.MaxExpired)
	for round := 1; ; round++ {
		leases, unwanted, idle, err := f.takeOnce(ctx, from, maxExpired)
		if err != nil {
			return nil, Idle{}, err
		}
		var failed error
		idle.Next, failed = f.returnTaken(ctx, unwanted, idle.Next)
		if len(leases) == 0 && idle.State == store.Delayed {
			idle.FailingQueue = f.failing.waiting(cmp.Or(req.Crawl, f.opt.Crawl), req.Queue, f.clock())
		}
		if len(leases) > 0 || len(unwanted) == 0 {
			return leases, idle, nil
		}
		if failed != nil || round == maxRounds || ctx.Err() != nil {
			idle.State = store.Delayed // the store served only URLs that must not be handed out
			return leases, idle, nil
		}
	}
}

func (f *Frontier) takeRequest(ctx context.Context, req LeaseRequest) (store.TakeRequest, error) {
	req.Crawl = cmp.Or(req.Crawl, f.opt.Crawl)
	if req.Crawl == "*" && req.Queue != "" {
		return store.TakeRequest{}, fault.As(store.ErrInvalid, "cannot lease from queue %q; got any crawl; want the name of one", req.Queue)
	}
	c, err := f.crawlOrAll(ctx, req.Crawl)
	if err != nil {
		return store.TakeRequest{}, err
	}
	return store.TakeRequest{
		Crawl:       c.stored,
		Queue:       req.Queue,
		Client:      req.Client,
		MaxURLs:     max(req.Max, 1),
		MaxQueues:   max(req.MaxQueues, 0),
		MaxBytes:    max(req.MaxBytes, 0),
		MaxPerQueue: max(req.MaxPerQueue, 1),
		Lease:       cmp.Or(max(req.Lease, 0), f.opt.Lease),
		Delay:       max(cmp.Or(req.Delay, f.opt.Delay), 0),
		MaxInFlight: max(cmp.Or(req.MaxInFlight, f.opt.MaxInFlight), 0),
	}, nil
}

// takeOnce takes URLs, and separates those to hand out from those to drop or to put back.
func (f *Frontier) takeOnce(ctx context.Context, from store.TakeRequest, maxExpired int) (leases []*Lease, unwanted []Settlement, idle Idle, err error) {
	taken, err := f.store.Take(ctx, from)
	if err != nil {
		return nil, nil, idle, fmt.Errorf("cannot lease URLs: %w", err)
	}
	leases = make([]*Lease, 0, len(taken.Leases))
	now := time.Now()
	var id identifier
	for i := range taken.Leases {
		l, err := leaseOf(&taken.Leases[i], now)
		if errors.Is(err, store.ErrFormat) { // a newer program wrote it, which can read it
			return nil, nil, idle, err
		}
		if err != nil { // the others are handed out
			unwanted = append(unwanted, Settlement{Lease: leaseWith(&taken.Leases[i], record{}, now), Outcome: Drop, reason: ReasonDamaged})
			continue
		}
		if stored := taken.Leases[i].Crawl; id.crawl == nil || id.crawl.stored != stored {
			id = identifier{}
			if c := f.crawls.ofStored(stored); c != nil {
				id = f.identifier(c)
			}
		}
		if s := f.unwanted(&id, l, maxExpired); s != nil {
			unwanted = append(unwanted, *s)
		} else {
			leases = append(leases, l)
		}
	}
	if f.opt.FailingAfter >= 0 {
		f.failing.leased(leases, now)
	}
	return leases, unwanted, Idle{State: taken.State, Next: taken.Next, Holding: taken.Holding}, nil
}

func leaseOf(l *store.Entry, now time.Time) (*Lease, error) {
	r, err := decodeRecord(l.Meta)
	if err != nil {
		return nil, fmt.Errorf("cannot lease %q: %w", l.URL, err)
	}
	return leaseWith(l, r, now), nil
}

func leaseWith(l *store.Entry, r record, now time.Time) *Lease {
	lease := &Lease{
		URL:           l.URL,
		Crawl:         shown(l.Crawl),
		Queue:         l.Queue,
		Key:           l.Key,
		Meta:          r.meta,
		Depth:         r.depth,
		Redirects:     r.hops,
		Discriminator: r.disc,
		Priority:      l.Priority,
		Attempts:      l.Attempts,
		Failures:      r.failures,
		Deferrals:     r.deferrals,
		Releases:      r.releases,
		Expiries:      max(l.Attempts-1-r.sum(), 0),
		Created:       l.Created,
		Expires:       l.Expires,
		Started:       now,
		complete:      true,
		respelled:     l.Respelled,
		Token:         l.Token,
	}
	if !r.isPlain() {
		kept := r
		lease.kept = &kept
	}
	return lease
}

// record is what the frontier keeps with the URL of a lease.
func (l *Lease) record() record {
	r := record{}
	if l.kept != nil {
		r = *l.kept
	}
	r.depth, r.hops, r.disc, r.meta = l.Depth, l.Redirects, l.Discriminator, l.Meta
	r.tries = tries{l.Failures, l.Deferrals, l.Releases}
	return r
}

// unwanted returns what becomes of a URL that was taken and must not be handed out, nil if it may be.
// It may be a poison URL; it may be excluded by now; or it is lowered or ranked later
// by now, and goes behind others of its queue: with priority 0 it is not looked at again.
func (f *Frontier) unwanted(id *identifier, l *Lease, maxExpired int) *Settlement {
	if maxExpired > 0 && l.Expiries >= maxExpired {
		return &Settlement{Lease: l, Outcome: Drop, reason: ReasonExpired}
	}
	ranks := f.opt.Rank != nil && f.opt.Delay == 0 // a queue with a delay would lose a turn, in which the URL may as well be fetched
	mayLower := (f.opt.Lower != nil || ranks) && !l.record().exempt && l.Priority > 0 && l.Attempts == 1
	if id.crawl == nil || !f.mayExclude() && !mayLower || id.canonicalize(l.URL) != nil {
		return nil // nothing to ask, or the rules, which may have changed, refuse it
	}
	form := string(id.scratch)
	if _, excluded := f.excludedBy(id.crawl, l.URL, form); excluded {
		return &Settlement{Lease: l, Outcome: Drop, reason: ReasonExcluded}
	}
	if mayLower {
		if p := f.priority(form, l.Priority, false, true); p == 0 || ranks && p < l.Priority {
			return &Settlement{Lease: l, Outcome: Release, Priority: &p, uncounted: true}
		}
	}
	return nil
}

// returnTaken drops, forgets or puts back URLs that were taken and are not to be handed out. It returns
// when to ask again: where they filled the answer, other URLs may be due. If it fails, the leases
// expire, and URLs to drop are dropped when they are taken again.
func (f *Frontier) returnTaken(ctx context.Context, unwanted []Settlement, next time.Time) (time.Time, error) {
	if len(unwanted) == 0 {
		return next, nil
	}
	excluded := make(map[string][]*Lease)
	unwanted = slices.DeleteFunc(unwanted, func(s Settlement) bool {
		l := s.Lease
		l.Started = time.Time{} // there was no fetch
		if s.reason == ReasonExcluded {
			f.purges.add(f, queueName{l.Crawl, l.Queue})
			excluded[l.Crawl] = append(excluded[l.Crawl], l)
		}
		return s.reason == ReasonExcluded
	})
	var errs []error
	for name, leases := range excluded {
		left, err := f.forgetTaken(ctx, name, leases)
		unwanted, errs = append(unwanted, left...), append(errs, err)
	}
	answers, err := f.settle(ctx, unwanted)
	if err = errors.Join(append(errs, err)...); err != nil {
		if next.IsZero() {
			next = time.Now().Add(time.Second) // a store that fails now may continue to fail
		}
		return next, err
	}
	dropped := make(map[refusalKey][]string)
	for i, a := range answers {
		if s := &unwanted[i]; a != Stale && !s.uncounted {
			k := refusalKey{crawl: s.Lease.Crawl, reason: s.reason, dropped: true}
			dropped[k] = append(dropped[k], s.Lease.URL)
		}
	}
	for k, urls := range dropped {
		f.noteGone(k, urls)
	}
	if next.IsZero() {
		next = time.Now()
	}
	return next, nil
}

// forgetTaken forgets URLs of a crawl that were taken and found to be excluded, while they are leased, and returns how to put back those that no longer
// are. Put back before, they would be counted by a purge, too, and taken again and again while their rows can't be forgotten.
func (f *Frontier) forgetTaken(ctx context.Context, crawl string, leases []*Lease) (left []Settlement, err error) {
	c, err := f.crawl(ctx, crawl, false)
	if err != nil {
		return nil, err
	}
	urls := make([]keyedURL, len(leases))
	for i, l := range leases {
		urls[i] = keyedURL{l.Key, l.URL}
	}
	forgotten, err := f.dropExcluded(ctx, c, urls)
	if err != nil {
		return nil, err
	}
	for _, l := range leases {
		if len(forgotten) > 0 && forgotten[0] == l.Key {
			forgotten = forgotten[1:]
			continue
		}
		left = append(left, Settlement{Lease: l, Outcome: Release, uncounted: true})
	}
	return left, nil
}

// loggedExamples is how many URLs of those dropped in one step are logged.
const loggedExamples = 10

// noteGone counts and logs URLs that the frontier dropped, or forgot as excluded, by itself: no caller is answered about
// them.
func (f *Frontier) noteGone(k refusalKey, urls []string) {
	for _, url := range urls {
		f.refused.count(k, url)
	}
	what := "URLs were dropped instead of leased"
	if k.reason == ReasonExcluded {
		what = "queued URLs were forgotten because they are excluded"
	}
	attrs := []any{"reason", k.reason, "crawl", k.crawl, "urls", len(urls), "examples", slices.Clone(urls[:min(len(urls), loggedExamples)])}
	if k.rule != "" {
		attrs = append(attrs, "rule", k.rule)
	}
	f.opt.Logger.Warn(what, attrs...)
}
