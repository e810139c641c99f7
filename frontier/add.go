package frontier

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
)

// The way of a URL into the store. A call splits its URLs by crawl (crawl.go), then takes each crawl through
// these steps, once and in this order, on one goroutine but for the first; a look-up is one step for up to 256 URLs:
//
//	prepare         canonical form, limits, queue, key; large batches on several cores
//	joinGroups      a setting of each queue whose group is named for the first time (group.go)
//	reserveQueries  a place in the table of query strings, if the URL has a query; one look-up, if a path is full (trap.go)
//	addItems        one atomic and durable step of the store, which alone decides which URLs are new
//	add             release the places of URLs that were not new; count refusals
//	raise           one look-up of duplicates that may change the queued URL (Link.Raise, Force, UnlessFetchedAfter), and one step
//	                that changes it

// AddBatch offers URLs and returns a result for each, in order. A refused URL
// never stops its batch. New URLs are recorded as seen and queued in one atomic
// step, durable when AddBatch returns; of equal URLs in a batch the first is
// new. Big batches are canonicalized on several cores.
//
// An error means that the store failed, or store.ErrInvalid that a priority or depth is out of range, and not
// that a URL was bad. There are no results then, and the URLs of one crawl were added all or not at all (on a
// redisstore each of them whole or not at all): adding them again is safe, and
// may answer "duplicate" for URLs that are queued already.
func (f *Frontier) AddBatch(ctx context.Context, urls []Link) ([]Result, error) {
	return f.offer(ctx, urls, true, func(ctx context.Context, w *workspace) error {
		if err := f.joinGroups(ctx, w); err != nil {
			return err
		}
		if err := f.add(ctx, w); err != nil {
			return err
		}
		return f.raise(ctx, w)
	})
}

// See records URLs as seen without queueing them, and answers as AddBatch does:
// a duplicate filter for crawlers that keep their own queue. Of any number of
// concurrent calls one gets New.
func (f *Frontier) See(ctx context.Context, urls []Link) ([]Result, error) {
	return f.offer(ctx, urls, true, func(ctx context.Context, w *workspace) error {
		for i := range w.offers {
			it := &w.offers[i].item
			it.Queue, it.Force, it.EndedBefore = "", false, time.Time{}
		}
		return f.add(ctx, w)
	})
}

// Peek answers as See would, and records nothing: New for a URL that was never seen, also if the
// batch has it twice. The query trap does not count the URLs.
func (f *Frontier) Peek(ctx context.Context, urls []Link) ([]Result, error) {
	return f.offer(ctx, urls, false, func(ctx context.Context, w *workspace) error {
		var asked []*offer
		for i := range w.offers {
			if o := &w.offers[i]; o.result.Status != StatusRefused {
				asked = append(asked, o)
			}
		}
		return f.lookupOffers(ctx, w.crawl, asked, func(o *offer, e *store.Entry) error {
			if o.result.Status = StatusNew; e.Known() {
				o.result.Status = StatusDuplicate
				if o.wantFirst {
					o.result.First = e.URL
				}
			}
			return nil
		})
	})
}

// offer prepares the URLs of each crawl, and has do answer them. With claim they are to be recorded.
func (f *Frontier) offer(ctx context.Context, urls []Link, claim bool, do func(context.Context, *workspace) error) ([]Result, error) {
	for i := range urls {
		if err := urls[i].Check(); err != nil {
			return nil, err
		}
	}
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	parts, invalid, err := f.parts(ctx, len(urls), func(i int) string { return urls[i].Crawl }, claim)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(urls))
	for _, i := range invalid {
		if results[i].refuse(ReasonCrawl); claim {
			f.refused.count(refusalKey{reason: ReasonCrawl}, urls[i].URL)
		}
	}
	err = each(ctx, parts, func(ctx context.Context, p part) error {
		w := f.workspace(p.crawl, len(p.at))
		w.asks = !claim
		f.prepare(w, urls, results, p.at)
		if err := do(ctx, w); err != nil {
			return err // and the store may still read w
		}
		f.keepWorkspace(w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// add stores prepared offers in one step and completes their results.
func (f *Frontier) add(ctx context.Context, w *workspace) error {
	places, err := f.reserveQueries(ctx, w)
	if err != nil {
		return err
	}
	err = f.addItems(ctx, w)
	f.queries.release(slices.DeleteFunc(places, func(p queryPlace) bool { return w.offers[p.at].result.Status == StatusNew }))
	if err != nil {
		return err
	}
	for i := range w.offers {
		if o := &w.offers[i]; o.result.Status == StatusRefused {
			f.refused.count(refusalKey{crawl: w.crawl.name, reason: o.result.Reason, rule: o.rule}, o.url.URL)
		}
	}
	return nil
}

// addItems adds the offers that are not refused to the store, and takes over its verdicts.
func (f *Frontier) addItems(ctx context.Context, w *workspace) error {
	opt := store.AddOptions{MaxPerQueue: f.opt.MaxPerQueue, MaxHeld: f.opt.MaxHeld}
	w.items = w.items[:0]
	for i := range w.offers {
		if o := &w.offers[i]; o.result.Status != StatusRefused {
			w.items = append(w.items, o.item)
			opt.WantFirst = opt.WantFirst || o.wantFirst
		}
	}
	if len(w.items) == 0 {
		return nil
	}
	verdicts, err := f.store.Add(ctx, w.crawl.stored, w.items, opt)
	if err != nil {
		return fmt.Errorf("cannot add %d URLs to crawl %q: %w", len(w.items), w.crawl.name, err)
	}
	queued := false
	for i := range w.offers {
		r := w.offers[i].result
		if r.Status == StatusRefused {
			continue
		}
		v := &verdicts[0]
		verdicts = verdicts[1:]
		switch v.Status {
		case store.New:
			r.Status = StatusNew
		case store.Duplicate:
			r.Status, r.Requeued, r.First, r.SeenIn = StatusDuplicate, v.Requeued, v.First, v.SeenIn
			if it := &w.offers[i].item; v.Requeued && !it.Force && it.EndedBefore.IsZero() {
				f.respelled.Add(1)
			}
		case store.Damaged:
			r.refuse(ReasonDamaged)
		case store.Undated:
			r.refuse(ReasonNoTexts)
			r.Err = store.ErrNoTexts
		default:
			r.refuse(ReasonFull)
		}
		queued = queued || v.Status == store.New || v.Requeued
	}
	if queued {
		f.rooms.wake(w.crawl.name)
	}
	return nil
}

// raise has the URLs that are queued already take over what their duplicates ask for. It is no part of
// the step that added the others, and need not be: a URL that is taken in between is not queued any more, and
// stays as it is.
func (f *Frontier) raise(ctx context.Context, w *workspace) error {
	var asked []*offer
	for i := range w.offers {
		o := &w.offers[i]
		if (o.url.Raise || o.url.Force || !o.url.UnlessFetchedAfter.IsZero()) && o.result.Status == StatusDuplicate && !o.result.Requeued {
			asked = append(asked, o)
		}
	}
	var raises []store.Settlement
	places := make(map[store.Key]int) // of keys in raises
	var raised []*offer               // those that changed one
	err := f.lookupOffers(ctx, w.crawl, asked, func(o *offer, e *store.Entry) error {
		if e.State != store.Queued {
			return nil
		}
		place, again := places[e.Key]
		priority := e.Priority // of a copy: e holds all that were looked up with it
		s := store.Settlement{Key: e.Key, Outcome: store.Requeue, If: store.Queued, Due: e.Due, Priority: &priority, Meta: e.Meta}
		if again {
			s = raises[place]
		}
		if changed, err := f.raiseOne(&s, o); err != nil || !changed {
			return err
		}
		if !again {
			place = len(raises)
			raises, places[e.Key] = append(raises, s), place
		}
		raises[place], raised = s, append(raised, o)
		return nil
	})
	if err != nil || len(raises) == 0 {
		return err
	}
	statuses, err := f.store.Settle(ctx, w.crawl.stored, raises)
	if err != nil {
		return fmt.Errorf("cannot raise %d queued URLs of crawl %q: %w", len(raises), w.crawl.name, err)
	}
	for _, o := range raised {
		o.result.Raised = statuses[places[o.item.Key]] == store.Settled
	}
	f.rooms.wake(w.crawl.name)
	return nil
}

// raiseOne puts what an offer asks for into a settlement of a queued URL, and reports whether that changes anything.
func (f *Frontier) raiseOne(s *store.Settlement, o *offer) (changed bool, err error) {
	r, err := decodeRecord(s.Meta)
	if err != nil {
		return false, fmt.Errorf("cannot raise %q: %w", o.url.URL, err)
	}
	recrawl := r.fetched != 0 && r.tries == (tries{}) && r.fetched < o.url.UnlessFetchedAfter.UnixMilli() // and no back-off, which stays
	if (o.url.Force || recrawl) && s.Due.After(later(o.item.Due, f.clock())) {
		s.Due, changed = o.item.Due, true
	}
	if !o.url.Raise {
		return changed, nil
	}
	if o.item.Priority > *s.Priority {
		s.Priority, changed = &o.item.Priority, true
	}
	if f.opt.MaxDepth > 0 && o.url.Depth < r.depth {
		r.depth = o.url.Depth
		s.Meta, changed = r.replacing(), true
	}
	return changed, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lookup returns what the store has of keys of a crawl, in one step.
func (f *Frontier) lookup(ctx context.Context, c *crawl, keys ...store.Key) ([]store.Entry, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	entries, err := f.store.Lookup(ctx, c.stored, keys)
	if err != nil {
		err = fmt.Errorf("cannot read URLs of crawl %q: %w", c.name, err)
	}
	return entries, err
}

// lookedUp is how many keys of offers a look-up has. Short URLs that are offered again may have been queued with a page of metadata each.
const lookedUp = 256

// lookupOffers calls do with what the store has of each offer, which is valid until do returns.
func (f *Frontier) lookupOffers(ctx context.Context, c *crawl, offers []*offer, do func(*offer, *store.Entry) error) error {
	for some := range slices.Chunk(offers, lookedUp) {
		keys := make([]store.Key, len(some))
		for i, o := range some {
			keys[i] = o.item.Key
		}
		entries, err := f.lookup(ctx, c, keys...)
		for i := 0; i < len(some) && err == nil; i++ {
			err = do(some[i], &entries[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// offer is a URL on its way into the store: the answer so far, and the item
// that will be stored if it isn't refused.
type offer struct {
	url    *Link
	result *Result
	// wantFirst is the opposite of url.SkipFirst, here since a walk over the links costs more.
	wantFirst bool
	item      store.Item
	path      uint64 // what the table of query strings counts it by; 0 if it does not
	rule      string // by which it is excluded, "" if it is not
}

// workspace is what a call needs for the offers of one crawl, about 250 bytes a URL, kept in
// Frontier.spaces for the next one.
type workspace struct {
	crawl  *crawl
	offers []offer
	items  []store.Item
	asks   bool // a dry run: nothing is recorded, and Options.Lower, which may count its calls, is not called
}

// maxPooledBatch is the largest batch whose workspace is kept.
const maxPooledBatch = 1 << 14

// workspace returns one with n empty offers, and room for as many items.
func (f *Frontier) workspace(c *crawl, n int) *workspace {
	w, ok := f.spaces.Get().(*workspace)
	if !ok || cap(w.offers) < n {
		w = &workspace{offers: make([]offer, n), items: make([]store.Item, 0, n)}
	}
	w.crawl, w.offers = c, w.offers[:n]
	return w
}

// keepWorkspace keeps one that is no longer used, without the URLs in it.
func (f *Frontier) keepWorkspace(w *workspace) {
	if cap(w.offers) <= maxPooledBatch {
		clear(w.offers)
		clear(w.items)
		f.spaces.Put(w)
	}
}

const (
	// parallelFrom is the batch size from which on URLs are canonicalized on
	// several cores: below it starting goroutines costs more than it saves.
	parallelFrom = 512
	chunkSize    = 256
)

// prepare makes offers of a call's URLs of one crawl, which are at these places: form, key, queue, item, and every refusal that
// needs no knowledge of other URLs.
func (f *Frontier) prepare(w *workspace, urls []Link, results []Result, places []int) {
	chunk := func(from, to int) {
		id := f.identifier(w.crawl)
		for i := from; i < to; i++ {
			o, at := &w.offers[i], places[i]
			o.url, o.result, o.wantFirst = &urls[at], &results[at], !urls[at].SkipFirst
			f.prepareOne(&id, o, w.asks)
		}
	}
	n := len(places)
	workers := min(runtime.GOMAXPROCS(0), n/chunkSize)
	if n < parallelFrom || workers < 2 {
		chunk(0, n)
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for to := int(next.Add(chunkSize)); to-chunkSize < n; to = int(next.Add(chunkSize)) {
				chunk(to-chunkSize, min(to, n))
			}
		})
	}
	wg.Wait()
}

func (f *Frontier) prepareOne(id *identifier, o *offer, asks bool) {
	u, r := o.url, o.result
	if !id.identify(u, r) {
		return
	}
	var reason Reason
	if o.rule, reason = f.refusal(id.crawl, r.Canonical, u); reason != "" {
		r.refuse(reason)
		return
	}
	o.item = id.item(u, r)
	if !u.SkipTraps {
		o.path = f.queries.pathOf(id.crawl, r.Canonical)
	}
	if !asks {
		o.item.Priority = f.priority(r.Canonical, o.item.Priority, u.SkipTraps, false)
	}
}

// priority returns the priority of a URL by Options.Lower and Rank, given the one it has. An exempt URL is neither lowered nor ranked, and has that
// of URLs that are not either.
func (f *Frontier) priority(canonical string, now uint8, exempt, queued bool) uint8 {
	switch {
	case f.opt.Lower == nil && f.opt.Rank == nil:
		return now
	case f.opt.Lower != nil && !exempt && f.opt.Lower(canonical, queued):
		return 0
	case f.opt.Rank == nil || now == store.Urgent:
		return max(now, 1)
	case exempt:
		return store.Urgent - 1
	}
	return uint8(store.Urgent - 1 - min(max(f.opt.Rank(canonical), 0), store.Urgent-2))
}

// refusal returns the reason to refuse a URL by its form and depth, and the rule of an excluded one, or "".
func (f *Frontier) refusal(c *crawl, canonical string, u *Link) (rule string, reason Reason) {
	rule, excluded := f.excludedBy(c, u.URL, canonical)
	switch {
	case excluded:
		reason = ReasonExcluded
	case f.opt.MaxDepth > 0 && u.Depth > f.opt.MaxDepth:
		reason = ReasonDepth
	case !f.opt.Traps.Off && !u.SkipTraps:
		reason = f.opt.Traps.check(canonical)
	}
	return rule, reason
}

func (r *Result) refuse(reason Reason) { r.Status, r.Reason = StatusRefused, reason }
