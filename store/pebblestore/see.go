package pebblestore

import (
	"context"
	"fmt"

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
		return fmt.Errorf("cannot record keys; got %d keys and %d answers; want as many: %w", len(keys), len(fresh), store.ErrInvalid)
	}
	if len(keys) == 0 {
		return s.usable()
	}
	sorter := sorters.Get().(*sorter)
	err = s.do(ctx, &seeOp{crawl: crawl, keys: keys, order: sorter.sort(keys), fresh: fresh, opt: opt})
	sorter.put(err)
	return err
}

type seeOp struct {
	crawl string
	keys  []store.Key
	order []uint32 // of keys, made by the caller's goroutine
	fresh []bool
	opt   store.SeeOptions
}

func (o *seeOp) weight() int { return len(o.keys) }

func (o *seeOp) apply(tx *txn) error {
	c := tx.crawl(o.crawl, true)
	if err := tx.recordSorted(c, o.keys, o.order, o.fresh); err != nil {
		return err
	}
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	return nil
}
