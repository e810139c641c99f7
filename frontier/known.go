package frontier

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Known is a URL whose state the caller knows: from an earlier crawl, or from a
// fetcher that holds no lease of ours.
type Known struct {
	Link
	// Next is when to fetch it next. The default, zero, is never again: it is
	// completed.
	Next time.Time
	// Redirect is where the fetch was redirected to, an absolute URL. If it is another variant
	// of this page, with the same key, it becomes the URL to fetch, now, and Next does not
	// count: see [Frontier.Redirect]. The default is that it was not redirected.
	Redirect string
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
// identity. Priority 0 keeps the present priority. The count of attempts begins again.
//
// To free the URLs of fetchers that died, put each of [Frontier.Entries] whose State is
// store.Leased, with Next time.Now() (zero means completed). A URL that kills its fetchers is then
// never dropped by [Options.MaxExpired], whose count begins again too; if that can happen, let the
// leases expire.
func (f *Frontier) Put(ctx context.Context, known []Known) ([]Result, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	if err := f.settleCrawls(ctx, len(known), func(i int) *Link { return &known[i].Link }); err != nil {
		return nil, err
	}
	results := make([]Result, len(known))
	var byCrawl putsByCrawl
	p := preparer{f: f}
	for i := range known {
		o := offer{url: &known[i].Link, result: &results[i]}
		if p.identifyKnown(&o) {
			byCrawl.put(&p, &o, &known[i])
		} else {
			f.report([]offer{o})
		}
	}
	if err := stepPerCrawl(ctx, byCrawl.all, f.put); err != nil {
		return nil, err
	}
	now := time.Now()
	for i := range known {
		f.reportFetched(known[i].Fetched, known[i].URL, now)
	}
	return results, nil
}

// identifyKnown makes the item of a known URL, or refuses it.
func (p *preparer) identifyKnown(o *offer) bool {
	if !p.resolve(o.url.Crawl) {
		o.result.refuse(ReasonCrawl)
		return false
	}
	o.crawl = p.crawl
	if !p.canonicalize(o) {
		return false
	}
	if p.f.excluded(o.result.Canonical) {
		o.result.refuse(ReasonExcluded)
		return false
	}
	p.fill(o)
	return true
}

// puts are the settlements of one crawl, each with its result.
type puts struct {
	stored      string // the crawl
	settlements []store.Settlement
	results     []*Result
	moved       []moved
	events      []Event
}

func (p *puts) add(r *Result, s store.Settlement) {
	p.settlements, p.results = append(p.settlements, s), append(p.results, r)
}

// putsByCrawl groups them. The zero value is empty.
type putsByCrawl struct {
	all    []*puts
	places map[string]*puts
}

func (b *putsByCrawl) of(stored string) *puts {
	p := b.places[stored]
	if p == nil {
		if b.places == nil {
			b.places = make(map[string]*puts, 1)
		}
		p = &puts{stored: stored}
		b.places[stored] = p
		b.all = append(b.all, p)
	}
	return p
}

// put adds the known state of an identified URL.
func (b *putsByCrawl) put(with *preparer, o *offer, k *Known) {
	p, s := b.of(o.crawl.stored), settlementOf(o, k.Next)
	if with.isVariant(o, k.Redirect) {
		p.moved = append(p.moved, moved{offer: *o, target: k.Redirect, plain: s})
		return
	}
	p.add(o.result, s)
}

func settlementOf(o *offer, next time.Time) store.Settlement {
	s := store.Settlement{Key: o.item.Key, Outcome: store.Requeue, Due: next, ResetAttempts: true, Create: true,
		URL: o.url.URL, Meta: o.item.Meta, Queue: o.item.Queue, UnicodeHost: o.item.UnicodeHost}
	if s.Meta == nil {
		s.Meta = record{}.replacing()
	}
	if next.IsZero() {
		s.Outcome = store.Complete
	}
	if o.item.Priority > 0 {
		priority := o.item.Priority
		s.Priority = &priority
	}
	return s
}

// put creates and overwrites the URLs of one crawl, and returns what reports it. Redirects come
// first: if the state of their target is also put, that counts.
func (f *Frontier) put(ctx context.Context, p *puts) (report func(), err error) {
	report = func() {
		for _, e := range p.events {
			f.emit(e)
		}
	}
	defer f.rooms.wake(shown(p.stored))
	if err := f.followKnown(ctx, p); err != nil {
		return report, err
	}
	if len(p.settlements) == 0 {
		return report, nil
	}
	statuses, err := f.store.Settle(ctx, p.stored, p.settlements)
	if err != nil {
		return report, fmt.Errorf("cannot put %d known URLs: %w", len(p.settlements), err)
	}
	for i, status := range statuses {
		p.results[i].Status = StatusDuplicate
		switch status {
		case store.Created:
			p.results[i].Status = StatusNew
		case store.Unreadable:
			p.results[i].refuse(ReasonDamaged)
			continue
		}
		if f.opt.OnEvent != nil {
			p.events = append(p.events, p.event(i))
		}
	}
	return report, nil
}

func (p *puts) event(i int) Event {
	s := &p.settlements[i]
	kind := EventRecrawl
	if s.Outcome == store.Complete {
		kind = EventDone
	}
	return Event{Kind: kind, Crawl: shown(p.stored), Queue: s.Queue, URL: s.URL, Canonical: p.results[i].Canonical, Key: s.Key}
}
