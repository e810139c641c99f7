package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Configure implements store.Store. Settings of a crawl and of the store are
// kept in every shard. Takes file the queues again by them, some at a time; every queue that a take serves
// is checked by the new settings from the first.
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
	return nil
}
