package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Known is a URL whose state the caller knows: from an earlier crawl, or from a
// fetcher that holds no lease of ours.
type Known struct {
	Link
	// Next is when to fetch it next. The default, zero, is never again: it is
	// completed.
	Next time.Time
	// At is when it was fetched, if that was before: ages count from then, where the store keeps texts. Of several times of a URL the
	// latest counts, unless it is completed while it waits to be fetched again. The default is now.
	At time.Time
	// Redirect is where the fetch was redirected to, an absolute URL. If it is another variant
	// of this page, with the same key, it becomes the URL to fetch, now, and Next does not
	// count: see [Frontier.Redirect]. The default is that it was not redirected.
	Redirect string
	// Outcome says what the fetch was: Done a page, which counts towards limits, Redirected and Drop
	// none, Retry a failure, Defer a host that said "not now"; Release that there was no fetch, and the
	// state is only stated. Failures and deferrals count in the round. Next alone says whether
	// the URL is fetched again: no bound drops it. The default is Done.
	Outcome Outcome
	// Fetched is the result of the fetch. The default is none.
	Fetched *Fetched
}

// Put creates or overwrites URLs in the state given, ending any lease on them. Traps, depth limits
// and caps don't apply; a URL that can't have a key, or is excluded, is refused. Results are New
// for URLs that were unknown, and Duplicate for others: a known URL keeps its first-seen URL while
// the text of that is kept; if it is not, and the URL is put as completed, nothing changes. Of
// equal URLs in a batch the last one counts.
//
// Meta and Depth are replaced too, so set them again, and set Discriminator, which is part of the
// identity. Priority 0 keeps the present priority. A new round begins, unless Outcome is Retry or Defer.
//
// To free the URLs of fetchers that died, put each of [Frontier.Entries] whose State is
// store.Leased, with Outcome Release and Next time.Now() (zero means completed). A URL that kills its fetchers is then
// never dropped by [Options.MaxExpired], whose count begins again too; if that can happen, let the
// leases expire.
func (f *Frontier) Put(ctx context.Context, known []Known) ([]Result, error) {
	for i := range known {
		if err := known[i].check(); err != nil {
			return nil, err
		}
		if noStatus(known[i].Fetched) {
			return nil, fault.As(store.ErrInvalid, "cannot put %q: got status %d; want 0 to 999", known[i].URL, known[i].Fetched.Status)
		}
		if o := known[i].Outcome; o > Redirected || o == Extend || o == Recrawl {
			return nil, fault.As(store.ErrInvalid, "cannot put %q: got outcome %d; want Done, Redirected, Drop, Retry, Defer or Release", known[i].URL, o)
		}
	}
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	parts, invalid, err := f.parts(ctx, len(known), func(i int) string { return known[i].Crawl }, true)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(known))
	for _, i := range invalid {
		results[i].refuse(ReasonCrawl)
		f.refused.add("", ReasonCrawl, known[i].URL)
	}
	err = eachPart(ctx, parts, func(ctx context.Context, p part) error { return f.putPart(ctx, &p, known, results) })
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for i := range known {
		f.reportFetched(known[i].Fetched, known[i].URL, now)
	}
	return results, nil
}

// put is one known URL on its way into the store.
type put struct {
	known  *Known
	result *Result
	store.Settlement
}

// putPart creates and overwrites the known URLs of one crawl. Redirects come first: if the state of
// their target is also put, that counts.
func (f *Frontier) putPart(ctx context.Context, p *part, known []Known, results []Result) error {
	defer f.rooms.wake(p.crawl.name)
	id := f.identifier(p.crawl)
	var plain, moved []put
	for k := range p.n {
		this := put{known: &known[p.place(k)], result: &results[p.place(k)]}
		u, r := &this.known.Link, this.result
		if id.identify(u, r) {
			if _, excluded := f.excludedBy(p.crawl.name, r.Canonical); excluded {
				r.refuse(ReasonExcluded)
			}
		}
		if r.Status == StatusRefused {
			f.noteRefused(p.crawl.name, r, u.URL)
			continue
		}
		item := id.item(u, r)
		if o := this.known.Outcome; o == Done && !this.known.Next.IsZero() {
			fetched, err := f.lastFetch(ctx, p.crawl, r.Key, this.known)
			if err != nil {
				return err
			}
			item.Meta = record{depth: u.Depth, disc: u.Discriminator, exempt: u.SkipTraps, fetched: fetched.UnixMilli(), meta: u.Meta}.encode()
		}
		this.Settlement = settlementOf(item, this.known)
		if err := f.countKnown(ctx, p.crawl, &this); err != nil {
			return err
		}
		if id.isVariant(u, r.Key, this.known.Redirect) {
			moved = append(moved, this)
		} else {
			plain = append(plain, this)
		}
	}
	ended, err := f.followKnown(ctx, p.crawl, moved)
	if err != nil {
		return err
	}
	_, err = f.settlePuts(ctx, p.crawl, append(plain, ended...))
	return err
}

// lastFetch is when a URL that will be fetched again was fetched last. The caller's time may be that of an old log, of a page that was
// fetched or dropped since: then the store's counts. Of a URL that is completed Settle takes the later time by itself, since a
// look-up for each would cost an import several times what the rest does.
func (f *Frontier) lastFetch(ctx context.Context, c *crawl, key store.Key, k *Known) (time.Time, error) {
	now := f.clock()
	if k.At.IsZero() || k.At.After(now) {
		return now, nil
	}
	e, err := f.store.Lookup(ctx, c.stored, key)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt): // which Settle answers with Unreadable
		return k.At, nil
	case err != nil:
		return now, fmt.Errorf("cannot look up %q: %w", k.URL, err)
	}
	was, err := entryOf(e)
	return later(k.At, was.Fetched), err
}

// settlementOf is the settlement that creates or overwrites a URL, due at the next time or completed.
func settlementOf(item store.Item, k *Known) store.Settlement {
	s := store.Settlement{Key: item.Key, Outcome: store.Requeue, Due: k.Next, NewRound: true, Create: true,
		URL: item.URL, Meta: item.Meta, Queue: item.Queue, UnicodeHost: item.UnicodeHost}
	if s.Meta == nil {
		s.Meta = record{}.replacing()
	}
	if k.Next.IsZero() {
		s.Outcome, s.Ended = store.Complete, k.At
	}
	s.Fetched = k.Outcome == Done
	if item.Priority > 0 {
		s.Priority = &item.Priority
	}
	return s
}

// countKnown counts a failure or deferral with those of the round, which goes on.
func (f *Frontier) countKnown(ctx context.Context, c *crawl, k *put) error {
	failed := k.known.Outcome == Retry
	if k.Outcome != store.Requeue || !failed && k.known.Outcome != Defer {
		return nil
	}
	r, err := f.recordOf(ctx, c, k.Key, k.known.URL)
	if err != nil {
		return err
	}
	if r.reason == endedRedirected {
		r = r.anew()
	}
	if failed {
		r.failures++
	} else {
		r.deferrals++
	}
	r.depth, r.meta = k.known.Depth, k.known.Meta
	if k.known.Fetched != nil {
		r.status = k.known.Fetched.Status
	}
	k.NewRound, k.Meta = false, r.replacing()
	return nil
}

// recordOf returns what is kept of a URL; nothing of one that is not known.
func (f *Frontier) recordOf(ctx context.Context, c *crawl, key store.Key, url string) (record, error) {
	e, err := f.store.Lookup(ctx, c.stored, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return record{}, fmt.Errorf("cannot look up %q: %w", url, err)
	}
	return decodeRecord(e.Meta)
}

// settlePuts settles known URLs in one step and fills in their results. It returns those that the store
// did not find, where they were not to be created.
func (f *Frontier) settlePuts(ctx context.Context, c *crawl, puts []put) (unknown []put, err error) {
	if len(puts) == 0 {
		return nil, nil
	}
	settlements := make([]store.Settlement, len(puts))
	for i := range puts {
		settlements[i] = puts[i].Settlement
	}
	statuses, err := f.store.Settle(ctx, c.stored, settlements)
	if err != nil {
		return nil, fmt.Errorf("cannot put %d known URLs: %w", len(puts), err)
	}
	for i, status := range statuses {
		r := puts[i].result
		switch r.Status = StatusDuplicate; status {
		case store.Created:
			r.Status = StatusNew
		case store.Unreadable:
			r.refuse(ReasonDamaged)
		case store.Unknown:
			if !puts[i].Create {
				unknown = append(unknown, puts[i])
			}
		}
	}
	return unknown, nil
}

// isVariant reports whether target is another URL with a key.
func (id *identifier) isVariant(u *Link, key store.Key, target string) bool {
	if target == "" || target == u.URL {
		return false
	}
	other, r := *u, Result{}
	other.URL = target
	return id.identify(&other, &r) && r.Key == key
}

// followKnown queues the targets of redirects to variants of the same page, due now. Offered as a link
// such a target is a duplicate, so nobody would ever fetch it. It returns the URLs whose chain of
// redirects is too long: they get the state that their client says.
func (f *Frontier) followKnown(ctx context.Context, c *crawl, moved []put) (ended []put, err error) {
	var follow []put
	for _, m := range moved {
		e, err := f.store.Lookup(ctx, c.stored, m.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("cannot look up %q: %w", m.known.URL, err)
		}
		was, err := decodeRecord(e.Meta)
		if err != nil {
			return nil, err
		}
		switch {
		case e.URL == m.known.Redirect: // it was said before, and the target has a state of its own
			m.result.Status = StatusDuplicate
			continue
		case was.hops >= f.opt.maxRedirects:
			f.refused.add(c.name, ReasonRedirects, m.known.Redirect)
			ended = append(ended, m)
			continue
		}
		u := &m.known.Link
		m.Fetched, m.Ended = false, time.Time{}
		m.Outcome, m.Due, m.Create, m.URL = store.Requeue, u.Due, false, m.known.Redirect
		m.Meta = record{depth: max(was.depth, u.Depth), hops: was.hops + 1, disc: u.Discriminator, meta: u.Meta}.replacing()
		follow = append(follow, m)
	}
	// Create would keep the first URL of an existing entry, so a second step creates missing entries.
	unknown, err := f.settlePuts(ctx, c, follow)
	if err != nil {
		return nil, err
	}
	for i := range unknown {
		unknown[i].Create = true
	}
	if _, err = f.settlePuts(ctx, c, unknown); err != nil {
		return nil, err
	}
	for i := range follow {
		follow[i].result.Requeued = follow[i].result.Status != StatusRefused
	}
	return ended, nil
}
