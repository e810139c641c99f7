package frontier

import (
	"context"
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
	c, err := f.crawl(ctx, l.Crawl, true)
	if err != nil {
		return Redirection{}, err
	}
	// In an exact crawl the target has its own queue, as any link does.
	urls := []Link{{URL: target, Depth: l.Depth, Priority: l.Priority, Discriminator: l.Discriminator}}
	results := make([]Result, 1)
	r := &results[0]
	w := f.workspace(c, 1)
	f.prepare(w, urls, results, &part{n: 1})
	outcome := Done
	switch {
	case l.Redirects >= f.opt.maxRedirects:
		r.refuse(ReasonRedirects)
		outcome = Drop
	case r.Status == StatusRefused:
	case r.Key == l.Key:
		return f.follow(ctx, c, l, target)
	default:
		w.offers[0].item.Meta = record{depth: l.Depth, hops: l.Redirects + 1, disc: l.Discriminator}.encode()
	}
	if err := f.add(ctx, w); err != nil {
		return Redirection{}, err
	}
	answers := make([]Settled, 1)
	err = f.settlePart(ctx, &part{crawl: c, n: 1}, []Settlement{{Lease: l, Outcome: outcome}}, answers)
	if err == nil && answers[0] == Stale {
		err = fmt.Errorf("cannot settle redirected %q: %w", l.URL, ErrStale)
	}
	return Redirection{Target: *r}, err
}

// follow makes target the fetch URL of a lease.
func (f *Frontier) follow(ctx context.Context, c *crawl, l *Lease, target string) (Redirection, error) {
	have, err := f.whole(ctx, c, l)
	if err != nil {
		return Redirection{}, err
	}
	next := *l
	next.returned, next.exempt = have.returned, have.exempt
	next.URL, next.Redirects = target, l.Redirects+1
	next.Expires = time.Now().Add(f.opt.Lease)
	statuses, err := f.store.Settle(ctx, c.stored, []store.Settlement{{
		Key: l.Key, Token: l.Token, Outcome: store.Extend, After: f.opt.Lease, URL: target,
		Meta: next.record().replacing(),
	}})
	if err != nil {
		return Redirection{}, fmt.Errorf("cannot settle in crawl %q: %w", c.name, err)
	}
	if statuses[0] != store.Settled {
		return Redirection{}, fmt.Errorf("cannot follow redirect of %q: %w", l.URL, ErrStale)
	}
	return Redirection{Follow: &next, Target: Result{Status: StatusDuplicate, Key: l.Key, Queue: l.Queue, First: l.URL}}, nil
}
