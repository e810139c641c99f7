package pebblestore

import (
	"context"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// See implements store.Store.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return err
	}
	if len(keys) != len(fresh) {
		return fault.As(store.ErrInvalid, "cannot record keys; got %d keys and room for %d answers; want as many answers as keys", len(keys), len(fresh))
	}
	paths, err := s.seenIn(crawl, keys)
	if err != nil {
		return err
	}
	if paths == nil {
		return s.see(ctx, crawl, keys, fresh, opt)
	}
	rest := outside(keys, paths)
	found := make([]bool, len(rest))
	if err := s.see(ctx, crawl, rest, found, opt); err != nil {
		return err
	}
	answerAll(fresh, found, paths, func(string) bool { return false })
	return nil
}

// see is See for keys that are in no key file.
func (s *Store) see(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) (err error) {
	if len(keys) == 0 {
		return s.usable()
	}
	sorter := sorters.Get().(*sorter)
	o := &sorter.see
	*o = seeOp{crawl: crawl, batch: sorter.take(keys), opt: opt}
	if err = s.find(ctx, o, crawl, o.batch.keys, o.batch.all); err == nil {
		sorter.give(fresh)
		if o.damaged != nil {
			err = sorter.damaged(o.damaged)
		}
	}
	sorter.put(err)
	return err
}

type seeOp struct {
	crawl   string
	batch   *sorted // made by the caller's goroutine
	opt     store.SeeOptions
	damaged *damagedKeys // of the batch
}

func (o *seeOp) weight() int { return len(o.batch.keys) }

func (o *seeOp) apply(tx *txn) error {
	c := tx.crawl(o.crawl, true)
	var err error
	if o.damaged, err = tx.recordSorted(c, o.batch.keys, o.batch.all, o.batch.fresh); err != nil {
		return err
	}
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	return nil
}
