package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Add implements store.Store. A batch is atomic URL by URL; with MaxHeld the cap
// is exact for one daemon at a time, and may be passed by what others add
// meanwhile.
func (s *Store) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckItems(items); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	unicode := false
	for i := range items {
		unicode = unicode || items[i].UnicodeHost
	}
	if err := s.noteUnicodeHosts(ctx, unicode); err != nil {
		return nil, err
	}
	defer s.idle.changes.Add(1)
	verdicts := make([]store.Verdict, len(items))
	for from := 0; from < len(items); {
		a := &adding{s: s, crawl: crawl, opt: opt}
		n, err := a.wave(ctx, items[from:], verdicts[from:])
		if err != nil {
			return nil, err
		}
		from += n
		ctx = accepted(ctx)
	}
	return verdicts, nil
}

// adding is an Add in progress.
type adding struct {
	s     *Store
	crawl string
	opt   store.AddOptions
}

// wave adds as many of the items as can be judged at once, and returns their
// number. With a cap, or a URL to force, what comes later depends on what
// becomes of it, so that waits for the next wave.
func (a *adding) wave(ctx context.Context, items []store.Item, verdicts []store.Verdict) (n int, err error) {
	if items[0].Force {
		return 1, a.force(ctx, &items[0], &verdicts[0])
	}
	room := int64(waveSize)
	if a.opt.MaxHeld > 0 {
		st, err := a.s.stats(ctx, a.crawl)
		if err != nil {
			return 0, err
		}
		room = a.opt.MaxHeld - st.Held
	}
	n = a.length(items, room)
	items, verdicts = items[:n], verdicts[:n]
	if room <= 0 {
		err = a.closed(ctx, items, verdicts)
	} else {
		err = a.open(ctx, items, verdicts)
	}
	if err == nil && a.opt.WantFirst {
		err = a.first(ctx, items, verdicts)
	}
	return n, err
}

func (a *adding) capped() bool { return a.opt.MaxPerQueue > 0 || a.opt.MaxHeld > 0 }

// length is the number of items of the next wave.
func (a *adding) length(items []store.Item, room int64) int {
	most := min(len(items), waveSize)
	if a.opt.MaxHeld > 0 && room > 0 {
		most = int(min(int64(most), room))
	}
	seen := map[store.Key]bool{}
	for i := range items[:most] {
		if items[i].Force || a.capped() && seen[items[i].Key] {
			return i
		}
		if a.capped() {
			seen[items[i].Key] = true
		}
	}
	return most
}

// closed adds to a crawl that holds as much as it may.
func (a *adding) closed(ctx context.Context, items []store.Item, verdicts []store.Verdict) error {
	found, err := a.s.judge(ctx, a.crawl, keysOf(items))
	if err != nil {
		return err
	}
	var bare []int // those that aren't to be queued
	for i := range items {
		switch {
		case found[i].was != unknown:
			verdicts[i].Status = store.Duplicate
		case items[i].Queue != "":
			verdicts[i].Status = store.Full
		default:
			bare = append(bare, i)
		}
	}
	if len(bare) == 0 {
		return nil
	}
	list, told := make([]store.Item, len(bare)), make([]store.Verdict, len(bare))
	for j, i := range bare {
		list[j] = items[i]
	}
	if err := a.open(ctx, list, told); err != nil {
		return err
	}
	for j, i := range bare {
		verdicts[i] = told[j]
	}
	return nil
}

func keysOf(items []store.Item) []store.Key {
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	return keys
}

// open adds to a crawl that may hold all of the items. What the cache knows is a
// duplicate, if the cluster says in the same time that the cache may be believed.
func (a *adding) open(ctx context.Context, items []store.Item, verdicts []store.Verdict) error {
	r, left := a.s.recall(a.crawl, len(items), func(i int) *store.Key { return &items[i].Key })
	err := a.s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		o := &offering{adding: a, items: items, verdicts: verdicts, id: a.s.requests.id()}
		told := r.ask(ctx)
		err := o.record(ctx, left)
		fallen := told()
		if err != nil {
			return false, err
		}
		if err := o.queue(accepted(ctx)); err != nil {
			return false, err
		}
		for _, i := range o.told {
			if verdicts[i].Status != store.Full {
				r.remember(&items[i].Key)
			}
		}
		left = append(o.pending, fallen...)
		busy := make([]store.Key, len(o.pending))
		for j, i := range o.pending {
			busy[j] = items[i].Key
		}
		return len(left) == 0, a.s.finish(accepted(ctx), a.crawl, busy)
	})
	for _, i := range r.hits {
		verdicts[i].Status = store.Duplicate
	}
	return err
}
