package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Redirect reports that the fetch of a lease was redirected to target, absolute or relative to the URL of the lease.
//
// If the target has the key of its source (http and https under a rule that folds them, a slash
// more or less), it is the same page. Redirect returns a lease to follow it now, without the delay of
// its queue, and the target becomes the URL that the frontier hands out for this page. The lease is
// extended by Options.Lease from now, and its Redirects grows by one.
//
// Any other target is added with the metadata, depth, priority and exemption from traps of its source,
// whose lease ends as [Redirected]; as [Defer], if the target is refused because of a bound on queued URLs. If the process dies
// between these two steps, the source is handed out again. A report from an earlier lease counts too, unless it would queue a page
// of its own chain again. A target that led here, or (where texts are kept) whose redirects lead back here, is queued again although it
// was seen: nobody has read its page yet, and this fetch may have set the cookie it needs. Any other seen target ends the chain.
//
// After 10 redirects in a row the lease is dropped and the target refused, so each loop ends.
func (f *Frontier) Redirect(ctx context.Context, l *Lease, target string) (Redirection, error) {
	if l == nil {
		return Redirection{}, errNoLease
	}
	if err := f.enter(); err != nil {
		return Redirection{}, err
	}
	defer f.leave()
	c, err := f.crawl(ctx, l.Crawl, false)
	if err != nil {
		return Redirection{}, err
	}
	entries, err := f.lookup(ctx, c, l.Key)
	if err == nil && !l.complete {
		l, err = l.completed(entries[0])
	}
	if err != nil {
		return Redirection{}, err
	}
	if target != "" {
		target = Links(l, target)[0].URL
	}
	w, r := f.targetOf(c, l, target)
	end := Settlement{Lease: l, Outcome: Redirected}
	switch {
	case l.Redirects >= f.opt.maxRedirects:
		r.refuse(ReasonRedirects)
		end.Outcome, end.reason = Drop, ReasonRedirects
	case r.Reason == ReasonExcluded && r.Key == l.Key:
		end.Outcome = Release // the page itself is excluded by now, and forgotten where it is put back
	case r.Status == StatusRefused:
	case r.Key == l.Key:
		return f.follow(ctx, c, l, target)
	}
	return f.endRedirected(ctx, w, &entries[0], end)
}

// endRedirected ends a lease that was redirected to another page, after the target is added, and if the lease counts. e is its URL as the
// store has it, and w has the target.
func (f *Frontier) endRedirected(ctx context.Context, w *workspace, e *store.Entry, end Settlement) (_ Redirection, err error) {
	c, l, r := w.crawl, end.Lease, w.offers[0].result
	if item := &w.offers[0].item; r.Status != StatusRefused && !item.Force {
		if item.Force, err = f.leadsBack(ctx, c, r.Key, l.Key); err != nil {
			return Redirection{}, err
		}
	}
	end.target = r.Key
	late := e.State != store.Leased || e.Token != l.Token
	again := e.State == store.Leased || e.State == store.Queued || e.State == store.Dropped
	switch {
	case late && (!again || w.offers[0].item.Force):
		// What holds the URL now, if anything, will be redirected, too. A lease that was overtaken ends, by whatever is said of it.
		end.Outcome = Release
	case late && r.Status == StatusRefused: // who sends its report again has had the refusal counted
	default:
		if err := f.add(ctx, w); err != nil {
			return Redirection{}, err
		}
		if r.Reason == ReasonFull || r.Reason == ReasonDamaged { // the page would be lost
			end.Outcome = Defer
		}
	}
	var answer Settled
	err = f.settleEndings(ctx, c, []ending{{Settlement: &end, lease: l, answer: &answer}})
	if err == nil {
		err = answer.err(l)
	}
	return Redirection{Target: *r}, err
}

// leadsBack reports whether a URL ended as the source of redirects that lead to another one. The chain that a lease knows is not enough
// to see this: where the steps of a cookie wall were offered as links, or requeued, each is queued on its own and begins a chain.
func (f *Frontier) leadsBack(ctx context.Context, c *crawl, from, to store.Key) (bool, error) {
	for range f.opt.maxRedirects {
		var r record
		entries, err := f.lookup(ctx, c, from)
		if err == nil {
			r, err = decodeRecord(entries[0].Meta)
		}
		if errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormat) { // which the offer is answered with
			return false, nil
		}
		if err != nil {
			return false, err
		}
		next, redirected := r.redirectedTo(entries[0].State)
		if !redirected || next == to {
			return redirected, nil
		}
		from = next
	}
	return false, nil
}

// targetOf prepares the target of a redirect as an offer. In an exact crawl it has its own queue, as
// any link does.
func (f *Frontier) targetOf(c *crawl, l *Lease, target string) (*workspace, *Result) {
	kept := l.record()
	urls := []Link{{URL: target, Depth: l.Depth, Priority: l.Priority, Discriminator: l.Discriminator, SkipTraps: kept.exempt, Meta: l.Meta}}
	results := make([]Result, 1)
	w := f.workspace(c, 1)
	f.prepare(w, urls, results, []int{0})
	if r := &results[0]; r.Status != StatusRefused && r.Key != l.Key {
		chain := kept.chain
		w.offers[0].item.Force = slices.Contains(chain, r.Key)
		w.offers[0].item.Meta = record{depth: l.Depth, hops: l.Redirects + 1, disc: l.Discriminator, exempt: kept.exempt, meta: l.Meta,
			chain: append(chain[:len(chain):len(chain)], l.Key)}.encode()
	}
	return w, &results[0]
}

// follow makes target the fetch URL of a lease.
func (f *Frontier) follow(ctx context.Context, c *crawl, l *Lease, target string) (Redirection, error) {
	next := *l
	next.URL, next.Redirects = target, l.Redirects+1
	next.Expires = time.Now().Add(f.opt.Lease)
	statuses, err := f.store.Settle(ctx, c.stored, []store.Settlement{{
		Key: l.Key, Token: l.Token, Outcome: store.Extend, After: f.opt.Lease, URL: target,
		Meta: next.record().replacing(),
	}})
	if err != nil {
		return Redirection{}, fmt.Errorf("cannot settle in crawl %q: %w", c.name, err)
	}
	switch statuses[0] {
	case store.Settled:
	case store.AlreadyDone:
		return Redirection{}, AlreadyDone.err(l)
	default:
		return Redirection{}, Stale.err(l)
	}
	return Redirection{Follow: &next, Target: Result{Status: StatusDuplicate, Key: l.Key, Queue: l.Queue, First: l.URL}}, nil
}
