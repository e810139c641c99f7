package redisstore

import (
	"context"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

const (
	noMore  = 1 << 32 // the position behind the last key of a shard
	allDays = 1<<16 - 1
)

// Keys implements store.Store. Shards hold ranges of keys, and their buckets
// runs of neighbours, so a listing needs the memory of a page.
func (s *Store) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		crawl, err := sched.CrawlName(crawl)
		if err != nil {
			yield(store.Key{}, err)
			return
		}
		for shard := range s.opt.Shards {
			for from := uint64(0); from < noMore; {
				p, err := entered(ctx, s, func() (*keyPage, error) { return s.keyPage(ctx, crawl, shard, from, allDays) })
				if err != nil {
					yield(store.Key{}, err)
					return
				}
				slices.SortFunc(p.keys, store.Key.Compare)
				for _, k := range p.keys {
					if !yield(k, nil) {
						return
					}
				}
				from = p.next
			}
		}
	}
}

// entered runs a step of a listing: between steps the store can be closed.
func entered[T any](ctx context.Context, s *Store, step func() (T, error)) (none T, err error) {
	if err := s.enter(ctx); err != nil {
		return none, err
	}
	defer s.leave()
	return step()
}

// keyPage is a page of the keys of a shard.
type keyPage struct {
	keys  []store.Key
	known []known
	next  uint64
}

// keyPage asks for keys from a position on that were recorded before a day.
func (s *Store) keyPage(ctx context.Context, crawl string, shard int, from uint64, days uint16) (*keyPage, error) {
	blob := appendUint(appendUint(appendUint(nil, 4, from), 4, 2000), 2, uint64(days))
	c := &call{shard: shard, script: scriptPage, crawl: crawl, blob: blob}
	if err := s.run(ctx, []*call{c}); err != nil {
		return nil, err
	}
	r := reader{c.reply}
	p := &keyPage{next: r.uint(6)}
	for r.more() {
		p.keys = append(p.keys, r.key())
		p.known = append(p.known, known{was(r.uint(1)), r.hash()})
	}
	return p, r.err()
}
