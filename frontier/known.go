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
	URL
	// Next is when to fetch it next. The default, zero, is never again: it is
	// completed.
	Next time.Time
	// Fetched tells what the fetch gave. The default is nothing.
	Fetched *Fetched
}

// Put creates or overwrites URLs in the state given, ending any lease on them.
// Traps, depth limits and caps don't apply; a URL that can't have a key is refused.
// Results are New for URLs that were unknown, Duplicate for others. These keep the
// URL that was first found while its text is kept. One whose text is not kept stays
// as it is if it is put as completed. Of equal URLs in a batch the last one counts.
func (f *Frontier) Put(ctx context.Context, known []Known) ([]Result, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	results := make([]Result, len(known))
	var byCrawl putsByCrawl
	p := preparer{f: f}
	for i := range known {
		o := offer{url: &known[i].URL, result: &results[i]}
		if !p.resolve(o.url.Crawl) {
			o.result.refuse(ReasonCrawl)
		} else if o.crawl = p.crawl; p.canonicalize(&o) {
			p.fill(&o)
			byCrawl.add(&o, known[i].Next)
			continue
		}
		f.report([]offer{o})
	}
	if err := stepPerCrawl(ctx, byCrawl.all, f.put); err != nil {
		return nil, err
	}
	now := time.Now()
	for i := range known {
		f.keep(known[i].Fetched, known[i].URL.URL, now)
	}
	return results, nil
}

// puts are the settlements of one crawl, each with its result.
type puts struct {
	stored      string // the crawl
	settlements []store.Settlement
	results     []*Result
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

func (b *putsByCrawl) add(o *offer, next time.Time) {
	p := b.of(o.crawl.stored)
	s := store.Settlement{Key: o.item.Key, Outcome: store.Requeue, Due: next, ResetAttempts: true, Create: true,
		URL: o.url.URL, Meta: o.item.Meta, Queue: o.item.Queue, UnicodeHost: o.item.UnicodeHost}
	if s.Meta == nil {
		s.Meta = record{}.replacing()
	}
	if next.IsZero() {
		s.Outcome = store.Complete
	}
	if o.item.Priority > 0 {
		s.Priority = &o.item.Priority
	}
	p.settlements = append(p.settlements, s)
	p.results = append(p.results, o.result)
}

// put creates and overwrites the URLs of one crawl, and returns what reports it.
func (f *Frontier) put(ctx context.Context, p *puts) (report func(), err error) {
	var events []Event
	report = func() {
		for _, e := range events {
			f.emit(e)
		}
	}
	defer f.rooms.wake(shown(p.stored))
	statuses, err := f.store.Settle(ctx, p.stored, p.settlements)
	if err != nil {
		return nil, fmt.Errorf("cannot put %d known URLs: %w", len(p.settlements), err)
	}
	for i, status := range statuses {
		p.results[i].Status = Duplicate
		if status == store.Created {
			p.results[i].Status = New
		}
		if f.opt.OnEvent != nil {
			events = append(events, p.event(i))
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
