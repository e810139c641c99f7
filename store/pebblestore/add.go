package pebblestore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	if len(items) == 0 {
		return nil, s.usable()
	}
	o := &addOp{crawl: crawl, items: items, opt: opt}
	err := s.do(ctx, o)
	return o.verdicts, err
}

type addOp struct {
	crawl    string
	items    []store.Item
	opt      store.AddOptions
	verdicts []store.Verdict
}

func (o *addOp) weight() int { return len(o.items) }

func (o *addOp) apply(tx *txn) error {
	c := tx.crawl(o.crawl, true)
	o.verdicts = make([]store.Verdict, len(o.items))
	for i := range o.items {
		if o.items[i].UnicodeHost {
			tx.unicodeHosts()
		}
		if !tx.record(c, &o.items[i].Key) {
			o.verdicts[i].Status = store.Duplicate
		}
	}
	return nil
}
