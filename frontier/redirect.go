package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Redirection is what to do about a redirect.
type Redirection struct {
	// Follow is the lease under which to fetch the target now: a variant of the same page. It
	// is nil if there is nothing to fetch now. The lease that was redirected is then over.
	Follow *Lease
	// Target is the answer for the target, which was offered like a link. Refused with
	// ReasonRedirects ends a chain. If Follow is set, Target is a Duplicate whose First is the
	// URL of the lease.
	Target Result
}

// Redirect reports that the fetch of a lease was redirected to target, an absolute URL. It needs
// the whole lease, as it was handed out.
//
// If the target has the key of its source (http and https under a rule that folds them, a slash
// more or less), it is the same page. Redirect returns a lease to follow it now, without the delay of
// its queue, and the target becomes the URL that the frontier hands out for this page. The lease is
// extended by Options.Lease from now, and its Redirects grows by one.
//
// Any other target is added with the depth and priority of its source, and the lease is done. If
// the process dies between these two steps, the source is handed out again.
//
// After 10 redirects in a row the lease is dropped and the target refused. A loop whose URLs have
// the same key ends in that way; any other loop ends at the first target that was seen.
func (f *Frontier) Redirect(ctx context.Context, l *Lease, target string) (Redirection, error) {
	if err := f.enter(); err != nil {
		return Redirection{}, err
	}
	defer f.leave()
	if err := f.settleCrawls(ctx, 1, func(int) *Link { return &Link{Crawl: l.Crawl} }); err != nil {
		return Redirection{}, err
	}
	offers, results := f.offerTarget(l, target)
	r := &results[0]
	if l.Redirects >= f.opt.maxRedirects {
		r.refuse(ReasonRedirects)
	}
	if r.Status != StatusRefused && r.Key == l.Key {
		return f.follow(ctx, l, target)
	}
	tooMany := r.Reason == ReasonRedirects
	if !tooMany {
		offers[0].item.Meta = record{depth: l.Depth, hops: l.Redirects + 1, disc: l.Discriminator}.encode()
	}
	if err := f.addOffers(ctx, &workspace{}, offers); err != nil {
		return Redirection{}, err
	}
	outcome := Done
	if tooMany {
		outcome = Drop
	}
	return Redirection{Target: *r}, f.end(ctx, l, outcome)
}

// offerTarget prepares a redirect's target as a link of its source. In an exact
// crawl it keeps its own queue, as any link does.
func (f *Frontier) offerTarget(l *Lease, target string) ([]offer, []Result) {
	urls := []Link{{URL: target, Crawl: l.Crawl, Depth: l.Depth, Priority: l.Priority, Discriminator: l.Discriminator}}
	results := make([]Result, 1)
	offers := make([]offer, 1)
	f.prepareAll(urls, results, offers)
	return offers, results
}

// follow makes target the fetch URL of a lease.
func (f *Frontier) follow(ctx context.Context, l *Lease, target string) (Redirection, error) {
	next := *l
	if !l.whole {
		e, err := f.Lookup(ctx, Link{URL: l.URL, Crawl: l.Crawl, Queue: l.Queue, Discriminator: l.Discriminator})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Redirection{}, err
		}
		next.returned, next.exempt = e.returned, e.exempt
	}
	next.URL, next.Redirects = target, l.Redirects+1
	next.Expires = time.Now().Add(f.opt.Lease)
	statuses, err := f.settleStored(ctx, l.Crawl, []store.Settlement{{
		Key: l.Key, Token: l.Token, Outcome: store.Extend, After: f.opt.Lease, URL: target,
		Meta: next.record().replacing(),
	}})
	if err != nil {
		return Redirection{}, err
	}
	if statuses[0] != store.Settled {
		return Redirection{}, fmt.Errorf("cannot follow redirect of %q: %w", l.URL, ErrStale)
	}
	f.emit(Event{Kind: EventRedirected, Crawl: l.Crawl, Queue: l.Queue, URL: target, Key: l.Key})
	return Redirection{Follow: &next, Target: Result{Status: StatusDuplicate, Key: l.Key, Queue: l.Queue, First: l.URL}}, nil
}

// end settles a lease whose answer the caller has already.
func (f *Frontier) end(ctx context.Context, l *Lease, outcome Outcome) error {
	answers, err := f.settle(ctx, []Settlement{{Lease: l, Outcome: outcome}})
	if err == nil && answers[0] == Stale {
		err = fmt.Errorf("cannot settle redirected %q: %w", l.URL, ErrStale)
	}
	return err
}

func (f *Frontier) settleStored(ctx context.Context, crawl string, s []store.Settlement) ([]store.SettleStatus, error) {
	stored, err := f.stored(ctx, crawl)
	if err != nil {
		return nil, err
	}
	statuses, err := f.store.Settle(ctx, stored, s)
	if err != nil {
		return nil, fmt.Errorf("cannot settle in crawl %q: %w", crawl, err)
	}
	return statuses, nil
}
