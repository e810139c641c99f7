package pebblestore

import (
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckItems(items); err != nil {
		return nil, err
	}
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	paths, err := s.seenIn(crawl, keys)
	if err != nil {
		return nil, err
	}
	if paths == nil {
		return s.add(ctx, crawl, items, keys, opt)
	}
	for i := range items {
		if items[i].Force {
			paths[i] = ""
		}
	}
	rest, err := s.add(ctx, crawl, outside(items, paths), outside(keys, paths), opt)
	if err != nil {
		return nil, err
	}
	verdicts := make([]store.Verdict, len(items))
	answerAll(verdicts, rest, paths, func(path string) store.Verdict {
		return store.Verdict{Status: store.Duplicate, SeenIn: path}
	})
	return verdicts, nil
}

// add is Add for items whose keys are in no key file.
func (s *Store) add(ctx context.Context, crawl string, items []store.Item, keys []store.Key, opt store.AddOptions) (_ []store.Verdict, err error) {
	if len(items) == 0 {
		return nil, s.usable()
	}
	o := &addOp{
		crawl: crawl, items: items, opt: opt,
		keys: keys, fresh: make([]bool, len(items)), verdicts: make([]store.Verdict, len(items)),
	}
	sorter := sorters.Get().(*sorter)
	o.order = sorter.sort(o.keys)
	if err = s.find(ctx, o, crawl, o.keys, o.order); err == nil && opt.WantFirst {
		err = s.tellFirst(o)
	}
	sorter.put(err)
	if err != nil {
		return nil, err
	}
	return o.verdicts, nil
}

type addOp struct {
	crawl    string
	items    []store.Item
	opt      store.AddOptions
	keys     []store.Key // of items
	order    []uint32    // of keys, made by the caller's goroutine
	fresh    []bool
	verdicts []store.Verdict
	c        *crawl
	// forced are the known keys that an item forces, if any does. The step sets their first-seen URLs.
	forced map[store.Key]*forced
}

func (o *addOp) weight() int { return len(o.items) }

func (o *addOp) apply(tx *txn) error {
	for i := range o.items {
		if o.items[i].UnicodeHost {
			tx.unicodeHosts()
			break
		}
	}
	return tx.queueItems(o)
}
