package frontier

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// moved is a Known whose fetch was redirected to another variant of the same page.
type moved struct {
	offer
	target string
	plain  store.Settlement // what Put would do without the redirect
}

// isVariant reports whether target is another URL with the key of an offer.
func (p *preparer) isVariant(o *offer, target string) bool {
	if target == "" || target == o.url.URL {
		return false
	}
	u, r := *o.url, Result{}
	u.URL = target
	other := offer{url: &u, result: &r, crawl: o.crawl}
	return p.canonicalize(&other) && r.Key == o.result.Key
}

// followKnown makes the targets of redirects the URLs to fetch, now. A client that offers
// the answer for the target is Duplicate, so no other client would ever fetch it. What is not to be
// followed becomes a plain settlement of p.
func (f *Frontier) followKnown(ctx context.Context, p *puts) error {
	var follow []store.Settlement
	var results []*Result
	for i := range p.moved {
		m := &p.moved[i]
		s, err := f.followOne(ctx, p, m)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		follow, results = append(follow, *s), append(results, m.result)
	}
	if len(follow) == 0 {
		return nil
	}
	statuses, err := f.store.Settle(ctx, p.stored, follow)
	if err != nil {
		return fmt.Errorf("cannot follow %d redirects of known URLs: %w", len(follow), err)
	}
	return f.makeTargets(ctx, p, follow, results, statuses)
}

// followOne returns the settlement that follows a redirect, nil if there is nothing to do or
// it was added to the plain ones.
func (f *Frontier) followOne(ctx context.Context, p *puts, m *moved) (*store.Settlement, error) {
	e, err := f.store.Lookup(ctx, p.stored, m.item.Key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("cannot look up %q: %w", m.url.URL, err)
	}
	was, err := decodeRecord(e.Meta)
	if err != nil {
		return nil, err
	}
	switch {
	case e.URL == m.target: // it was said before, and the target has a state of its own
		m.result.Status = StatusDuplicate
		return nil, nil
	case was.hops >= f.opt.maxRedirects:
		f.refused.add(m.crawl.name, ReasonRedirects, m.target)
		p.add(m.result, m.plain)
		return nil, nil
	}
	s := m.plain
	s.Outcome, s.Due, s.Create, s.URL = store.Requeue, m.url.Due, false, m.target
	s.Meta = record{depth: max(was.depth, m.url.Depth), hops: was.hops + 1, disc: m.url.Discriminator, meta: m.url.Meta}.replacing()
	return &s, nil
}

// makeTargets makes the targets of which nothing but the key was known.
func (f *Frontier) makeTargets(ctx context.Context, p *puts, follow []store.Settlement, results []*Result, statuses []store.SettleStatus) error {
	var unknown []store.Settlement
	var theirs []*Result
	for i, status := range statuses {
		if status == store.Unreadable {
			results[i].refuse(ReasonDamaged)
			continue
		}
		results[i].Status, results[i].Requeued = StatusDuplicate, true
		if f.opt.OnEvent != nil {
			p.events = append(p.events, Event{Kind: EventRedirected, Crawl: shown(p.stored), Queue: follow[i].Queue, URL: follow[i].URL,
				Canonical: results[i].Canonical, Key: follow[i].Key})
		}
		if status == store.Unknown {
			s := follow[i]
			s.Create = true
			unknown, theirs = append(unknown, s), append(theirs, results[i])
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	statuses, err := f.store.Settle(ctx, p.stored, unknown)
	if err != nil {
		return fmt.Errorf("cannot make the targets of %d redirects: %w", len(unknown), err)
	}
	for i, status := range statuses {
		if status == store.Created {
			theirs[i].Status = StatusNew
		}
	}
	return nil
}
