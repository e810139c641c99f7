package pebblestore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// See implements store.Store.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	if len(keys) != len(fresh) {
		return fmt.Errorf("cannot record keys; got %d keys and %d answers; want as many: %w", len(keys), len(fresh), store.ErrInvalid)
	}
	if len(keys) == 0 {
		return s.usable()
	}
	return s.do(ctx, &seeOp{crawl: crawl, keys: keys, fresh: fresh, opt: opt})
}

type seeOp struct {
	crawl string
	keys  []store.Key
	fresh []bool
	opt   store.SeeOptions
}

func (o *seeOp) weight() int { return len(o.keys) }

func (o *seeOp) apply(tx *txn) error {
	c := tx.crawl(o.crawl, true)
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	for i := range o.keys {
		o.fresh[i] = tx.record(c, &o.keys[i])
	}
	return nil
}
