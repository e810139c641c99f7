package frontier

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// Add offers one URL of the crawl of [Options.Crawl]. It is AddBatch for one.
func (f *Frontier) Add(ctx context.Context, url string) (Result, error) {
	results, err := f.AddBatch(ctx, []Link{{URL: url}})
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// AddBatch offers URLs and returns a result for each, in order. A refused URL
// never stops its batch. New URLs are recorded as seen and queued in one atomic
// step, durable when AddBatch returns; of equal URLs in a batch the first is
// new. Big batches are canonicalized on several cores.
//
// An error means that the store failed, not that a URL was bad. There are no
// results then, and the URLs of one crawl were added all or not at all (on a
// redisstore each of them whole or not at all): adding them again is safe, and
// may answer "duplicate" for URLs that are queued already.
func (f *Frontier) AddBatch(ctx context.Context, urls []Link) ([]Result, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	if err := f.settleCrawls(ctx, len(urls), func(i int) *Link { return &urls[i] }); err != nil {
		return nil, err
	}
	results, w := make([]Result, len(urls)), f.spaces.get(len(urls))
	f.prepareAll(urls, results, w.offers)
	if err := f.addOffers(ctx, w, w.offers); err != nil {
		return nil, err
	}
	if err := f.addProbes(ctx, w.offers); err != nil {
		return nil, err
	}
	f.spaces.put(w)
	return results, nil
}

// See records URLs as seen without queueing them, and answers as AddBatch does:
// a duplicate filter for crawlers that keep their own queue. Of any number of
// concurrent calls one gets New.
func (f *Frontier) See(ctx context.Context, urls []Link) ([]Result, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	if err := f.settleCrawls(ctx, len(urls), func(i int) *Link { return &urls[i] }); err != nil {
		return nil, err
	}
	results, w := make([]Result, len(urls)), f.spaces.get(len(urls))
	f.prepareAll(urls, results, w.offers)
	for i := range w.offers {
		w.offers[i].item.Queue, w.offers[i].item.Force = "", false
	}
	if err := f.addOffers(ctx, w, w.offers); err != nil {
		return nil, err
	}
	f.spaces.put(w)
	return results, nil
}

// addOffers stores prepared offers, each crawl in a step of its own, and fills in
// their results.
func (f *Frontier) addOffers(ctx context.Context, w *workspace, offers []offer) error {
	groups := groupByCrawl(offers)
	return stepPerCrawl(ctx, groups, func(ctx context.Context, group []offer) (func(), error) {
		own := w
		if len(groups) > 1 {
			own = &workspace{}
		}
		if err := f.addToCrawl(ctx, own, group); err != nil {
			return nil, err
		}
		return func() { f.report(group) }, nil
	})
}

// groupByCrawl returns the offers of each crawl, in the order of its first offer.
// The order within a crawl is kept.
func groupByCrawl(offers []offer) [][]offer {
	if len(offers) == 0 {
		return nil
	}
	same := 1
	for same < len(offers) && offers[same].crawl.stored == offers[0].crawl.stored {
		same++
	}
	if same == len(offers) {
		return [][]offer{offers}
	}
	places := make(map[string]int)
	var groups [][]offer
	for i := range offers {
		o := &offers[i]
		place, ok := places[o.crawl.stored]
		if !ok {
			place = len(groups)
			places[o.crawl.stored] = place
			groups = append(groups, nil)
		}
		groups[place] = append(groups[place], *o)
	}
	return groups
}

func (f *Frontier) addToCrawl(ctx context.Context, w *workspace, offers []offer) error {
	counts := queryCounts{f: f, offers: offers}
	if err := counts.count(ctx); err != nil {
		counts.settle(false)
		return err
	}
	items, places, wantFirst := w.itemsOf(offers)
	verdicts, err := f.storeAdd(ctx, offers[0].crawl, items, wantFirst)
	if err != nil {
		counts.settle(false)
		return err
	}
	queued := false
	for i, v := range verdicts {
		offers[places[i]].result.take(v)
		queued = queued || v.Status == store.New || v.Requeued
	}
	counts.settle(true)
	if queued {
		f.rooms.wake(offers[0].crawl.name)
	}
	return nil
}

func (f *Frontier) storeAdd(ctx context.Context, c crawl, items []store.Item, wantFirst bool) ([]store.Verdict, error) {
	if len(items) == 0 {
		return nil, nil
	}
	verdicts, err := f.store.Add(ctx, c.stored, items, store.AddOptions{
		MaxPerQueue: f.opt.MaxPerQueue,
		MaxHeld:     f.opt.MaxHeld,
		WantFirst:   wantFirst,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add %d URLs to crawl %q: %w", len(items), c.name, err)
	}
	return verdicts, nil
}

func (r *Result) take(v store.Verdict) {
	switch v.Status {
	case store.New:
		r.Status = StatusNew
	case store.Duplicate:
		r.Status, r.Requeued, r.First, r.SeenIn = StatusDuplicate, v.Requeued, v.First, v.SeenIn
	case store.Damaged:
		r.refuse(ReasonDamaged)
	default:
		r.refuse(ReasonFull)
	}
}

// report counts refusals and calls the hook with the result of each offer.
func (f *Frontier) report(offers []offer) {
	for i := range offers {
		o := &offers[i]
		if o.result.Status == StatusRefused {
			f.refused.add(o.crawl.name, o.result.Reason, o.url.URL)
		}
		if f.opt.OnEvent != nil {
			f.emit(o.event())
		}
	}
}

func (o *offer) event() Event {
	e := Event{Kind: EventAdded, Crawl: o.crawl.name, Queue: o.result.Queue, URL: o.url.URL,
		Canonical: o.result.Canonical, Key: o.result.Key, Reason: o.result.Reason}
	switch {
	case o.result.Status == StatusRefused:
		e.Kind = EventRefused
	case o.result.Status == StatusDuplicate && !o.result.Requeued:
		e.Kind = EventDuplicate
	}
	return e
}

// Peek answers as See would, and records nothing: New for a URL that was never seen, also if the
// batch has it twice. The query trap does not count the URLs.
func (f *Frontier) Peek(ctx context.Context, urls []Link) ([]Result, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	for i := range urls {
		if i > 0 && urls[i].Crawl == urls[i-1].Crawl {
			continue
		}
		if err := f.learn(ctx, urls[i].Crawl); err != nil {
			return nil, err
		}
	}
	results, w := make([]Result, len(urls)), f.spaces.get(len(urls))
	f.prepareAll(urls, results, w.offers)
	for i := range w.offers {
		o, r := &w.offers[i], &results[i]
		if r.Status == StatusRefused {
			continue
		}
		e, err := f.store.Lookup(ctx, o.crawl.stored, o.item.Key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			r.Status = StatusNew
		case err != nil:
			return nil, fmt.Errorf("cannot look up %q: %w", o.url.URL, err)
		default:
			if r.Status = StatusDuplicate; !o.url.SkipFirst {
				r.First = e.URL
			}
		}
	}
	f.spaces.put(w)
	return results, nil
}
