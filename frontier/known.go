package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// At is when the URL was fetched, if in the past: where the store keeps texts, its age counts from then. Of several times of a URL the
	// latest counts, unless it is completed while it waits to be fetched again. The default is now.
	At time.Time
	// Redirect is where the fetch was redirected to, an absolute URL. If it is another variant
	// of this page, with the same key, it becomes the URL to fetch, now, and Next does not
	// count: see [Frontier.Redirect]. The default is that it was not redirected.
	Redirect string
	// Outcome is the result of the fetch: Done for a page, which counts towards limits; Redirected and Drop
	// for none; Retry for a failure; Defer for a host that said "not now"; Release if there was no fetch and
	// only the state is given. Failures and deferrals count in the round. Next alone decides whether
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
// identity. Priority 0 keeps the present priority. A new round begins, unless Outcome is Retry or Defer; a
// Redirect that is followed begins one anyway.
//
// To free the URLs of fetchers that died, put each of [Frontier.Entries] whose State is
// store.Leased, with Outcome Release and Next time.Now() (zero means completed). A URL that kills its fetchers is then
// never dropped by [Options.MaxExpired], whose count begins again too; if that can happen, let the
// leases expire.
func (f *Frontier) Put(ctx context.Context, known []Known) ([]Result, error) {
	for i := range known {
		if err := known[i].Check(); err != nil {
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
		f.refused.count(refusalKey{reason: ReasonCrawl}, known[i].URL)
	}
	err = each(ctx, parts, func(ctx context.Context, p part) error { return f.putPart(ctx, &p, known, results) })
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
	item   store.Item
	moves  bool // the URL is replaced by the variant that it was redirected to
	store.Settlement
}

// putPart creates and overwrites the known URLs of one crawl. Redirects to variants of the same page come first: if the state of their
// target is also put, that counts.
func (f *Frontier) putPart(ctx context.Context, p *part, known []Known, results []Result) error {
	defer f.rooms.wake(p.crawl.name)
	id, now := f.identifier(p.crawl), f.clock()
	puts := make([]put, 0, len(p.at))
	for _, at := range p.at {
		if k := (put{known: &known[at], result: &results[at]}); f.identifyPut(&id, &k) {
			puts = append(puts, k)
		}
	}
	for some := range slices.Chunk(puts, lookedUp) {
		if err := f.preparePuts(ctx, p.crawl, some, now); err != nil {
			return err
		}
	}
	var plain, moved []*put
	for i := range puts {
		switch k := &puts[i]; {
		case k.result.Status != 0: // it was said before
		case k.moves:
			moved = append(moved, k)
		default:
			plain = append(plain, k)
		}
	}
	// Create would keep the first URL of an existing entry, so a second step creates missing entries.
	unknown, err := f.settlePuts(ctx, p.crawl, moved)
	if err != nil {
		return err
	}
	for i := range unknown {
		unknown[i].Create = true
	}
	if _, err = f.settlePuts(ctx, p.crawl, unknown); err != nil {
		return err
	}
	for i := range moved {
		moved[i].result.Requeued = moved[i].result.Status != StatusRefused
	}
	_, err = f.settlePuts(ctx, p.crawl, plain)
	return err
}

// identifyPut fills in what is known of a URL without the store, or refuses it.
func (f *Frontier) identifyPut(id *identifier, k *put) bool {
	u, r, rule, excluded := &k.known.Link, k.result, "", false
	if id.identify(u, r) {
		if rule, excluded = f.excludedBy(id.crawl, u.URL, r.Canonical); !excluded {
			k.item = id.item(u, r)
			k.moves = id.isVariant(u, r.Key, k.known.Redirect)
			return true
		}
		r.refuse(ReasonExcluded)
	}
	f.refused.count(refusalKey{crawl: id.crawl.name, reason: r.Reason, rule: rule}, u.URL)
	return false
}

// preparePuts looks up the URLs whose present state matters, and makes the settlements of all.
func (f *Frontier) preparePuts(ctx context.Context, c *crawl, puts []put, now time.Time) error {
	var keys []store.Key
	for i := range puts {
		if puts[i].depends(now) {
			keys = append(keys, puts[i].item.Key)
		}
	}
	entries, err := f.lookup(ctx, c, keys...)
	if err != nil && !errors.As(err, new(*store.DamagedKeys)) { // those Settle answers with Unreadable
		return err
	}
	for i := range puts {
		k, was := &puts[i], Entry{}
		if k.depends(now) {
			if was, err = entryOf(entries[0]); err != nil {
				return err
			}
			entries = entries[1:]
		}
		f.preparePut(c, k, &was, now)
	}
	return nil
}

// preparePut makes the settlement of a known URL, or answers it. was is its entry, read only if it depends on that.
func (f *Frontier) preparePut(c *crawl, k *put, was *Entry, now time.Time) {
	u := &k.known.Link
	switch {
	case k.moves && was.URL == k.known.Redirect: // it was said before, and the target has a state of its own
		k.result.Status = StatusDuplicate
		return
	case k.moves && was.Redirects >= f.opt.maxRedirects: // it gets the state that its client says
		f.refused.count(refusalKey{crawl: c.name, reason: ReasonRedirects}, k.known.Redirect)
		k.moves = false
	}
	k.Settlement = store.Settlement{Key: k.item.Key, Outcome: store.Requeue, NewRound: true, Queue: k.item.Queue, UnicodeHost: k.item.UnicodeHost}
	if k.item.Priority > 0 {
		k.Priority = &k.item.Priority
	}
	if k.moves { // as an ordinary offer the target would be a duplicate, and never fetched
		k.Due, k.URL = u.Due, k.known.Redirect
		k.Meta = record{depth: max(was.Depth, u.Depth), hops: was.Redirects + 1, disc: u.Discriminator, meta: u.Meta}.replacing()
	} else {
		k.state(was, now)
	}
}

// depends reports whether what is put depends on what the store has. Looking up each URL would cost an import several times
// what the rest does.
func (k *put) depends(now time.Time) bool {
	u := k.known
	return k.moves || !u.Next.IsZero() && (u.Outcome == Retry || u.Outcome == Defer || u.Outcome == Done && u.isOld(now))
}

func (k *Known) isOld(now time.Time) bool { return !k.At.IsZero() && !k.At.After(now) }

// state makes the settlement create or overwrite the URL, due at Next or completed; was is its entry, read only where that matters.
func (k *put) state(was *Entry, now time.Time) {
	u := k.known
	k.URL, k.Due, k.Create, k.Fetched = u.URL, u.Next, true, u.Outcome == Done
	r := record{depth: u.Depth, disc: u.Discriminator, exempt: u.SkipTraps, meta: u.Meta}
	switch {
	case u.Next.IsZero():
		k.Outcome, k.Ended = store.Complete, u.At
	case u.Outcome == Done:
		// The time may be that of an old log, of a page that was fetched or dropped since: then the store's counts. Of a URL that is
		// completed Settle takes the later time by itself.
		fetched := now
		if u.isOld(now) {
			fetched = later(u.At, was.Fetched)
		}
		r.fetched = fetched.UnixMilli()
	case u.Outcome == Retry, u.Outcome == Defer: // counted in the round, which continues
		if r = was.kept; r.reason == endedRedirected {
			r = r.anew()
		}
		if u.Outcome == Retry {
			r.failures++
		} else {
			r.deferrals++
		}
		if r.depth, r.meta = u.Depth, u.Meta; u.Fetched != nil {
			r.status = u.Fetched.Status
		}
		k.NewRound = false
	}
	k.Meta = r.replacing()
}

// settlePuts settles known URLs in one step and fills in their results. It returns those that the store
// did not find, where they were not to be created.
func (f *Frontier) settlePuts(ctx context.Context, c *crawl, puts []*put) (unknown []*put, err error) {
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
