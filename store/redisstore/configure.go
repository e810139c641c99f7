package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Configure implements store.Store. Settings of a crawl and of the store are
// kept in every shard, and reach one after the other.
func (s *Store) Configure(ctx context.Context, crawl, queue string, ch store.QueueChange) error {
	crawl, err := sched.CheckConfigure(crawl, queue, &ch)
	if err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	defer s.idle.changes.Add(1)
	notFound := fmt.Errorf("cannot configure queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	must := ch.MustExist && crawl != sched.AnyCrawl
	if must && queue == "" {
		names, err := s.crawlNames(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(names, crawl) {
			return notFound
		}
	}
	shard, _ := s.layout.ofQueue(queue)
	head := append(appendChange([]byte{flag(must)}, &ch), queue...)
	b := s.batch(scriptConfigure, s.requests.id(), crawl, head)
	if queue == "" {
		b.everywhere()
	} else {
		b.part(shard, 0)
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	found := true
	if err := b.tell(func(_ int, answer byte) { found = found && answer == 'Y' }); err != nil {
		return err
	}
	if !found {
		return notFound
	}
	if queue == "" {
		return s.refile(accepted(ctx), crawl)
	}
	return nil
}

// refile has all queues filed by the changed settings of the crawl or store above them, some at a time. If it is
// broken off, takes go on with it.
func (s *Store) refile(ctx context.Context, crawl string) error {
	crawls := []string{crawl}
	if crawl == sched.AnyCrawl {
		var err error
		if crawls, err = s.crawlNames(ctx); err != nil {
			return err
		}
	}
	for _, name := range crawls {
		for left := numbers(s.opt.Shards); len(left) > 0; {
			b := s.batch(scriptRefile, requestID{}, name, nil)
			for _, shard := range left {
				b.part(shard, shard)
			}
			if err := b.run(ctx); err != nil {
				return err
			}
			left = left[:0]
			if err := b.tell(func(i int, more byte) {
				if more == '1' {
					left = append(left, i)
				}
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
