package pebblestore

import (
	"context"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// knownStep is how many keys Known looks up in one step, which other callers wait for.
const knownStep = 1 << 13

// Known sets known[i] to whether keys[i] was seen in crawl. It is Lookup for many keys: each
// step of the store answers thousands of them. Keys that are recorded while it runs may be
// known or not. The slices have equal length.
func (s *Store) Known(ctx context.Context, crawl string, keys []store.Key, known []bool) error {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return err
	}
	if len(keys) != len(known) {
		return fault.As(store.ErrInvalid, "cannot look up keys; got %d keys and room for %d answers; want as many answers as keys", len(keys), len(known))
	}
	var damaged *damagedKeys
	var all store.DamagedKeys
	for at, n := 0, 0; at < len(keys); at += n {
		n = min(len(keys)-at, knownStep)
		sorter := sorters.Get().(*sorter)
		b := sorter.take(keys[at : at+n])
		err := s.find(ctx, readOp(func(tx *txn) error {
			clear(b.fresh)
			damaged = nil
			if c := s.crawls[crawl]; c != nil {
				var err error
				damaged, err = c.seen.find(b.keys, b.all, b.fresh)
				return err
			}
			return nil
		}), crawl, b.keys, b.all)
		if err == nil {
			sorter.give(known[at : at+n])
			if damaged != nil {
				e := sorter.damaged(damaged)
				for _, i := range e.At {
					all.At = append(all.At, at+i)
				}
				all.Err = e.Err
			}
		}
		sorter.put(err)
		if err != nil {
			return err
		}
	}
	if err := s.usable(); err != nil || all.At == nil {
		return err
	}
	return &all
}
