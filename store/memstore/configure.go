package memstore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Configure changes settings of a queue, a crawl or the store.
func (s *Store) Configure(ctx context.Context, name, queue string, ch store.QueueChange) error {
	name, err := sched.CheckConfigure(name, queue, &ch)
	if err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	now := s.now()
	switch {
	case name == sched.AnyCrawl:
		sched.Change(&s.sched.Defaults, &ch)
		if sched.Refiles(&ch) {
			s.refile(now, s.crawls)
		}
		return nil
	case ch.MustExist && !s.exists(name, queue):
		return fmt.Errorf("cannot configure queue %q of crawl %q: %w", queue, name, store.ErrNotFound)
	}
	c := s.crawl(name)
	if queue == "" {
		sched.Change(&c.Settings, &ch)
		if sched.Refiles(&ch) {
			s.refile(now, map[string]*crawl{name: c})
		}
		return nil
	}
	q := c.queue(queue)
	q.Configure(&ch, now)
	q.File(now)
	return nil
}

// exists reports whether a queue holds, has completed or has dropped anything, or
// whether the crawl is known, with queue "".
func (s *Store) exists(name, queue string) bool {
	c := s.crawls[name]
	if c == nil || queue == "" {
		return c != nil
	}
	q := c.queues[queue]
	return q != nil && q.Used()
}

func (s *Store) refile(now int64, crawls map[string]*crawl) {
	for _, c := range crawls {
		list := make([]*sched.Queue, 0, len(c.queues))
		for _, q := range c.queues {
			list = append(list, &q.Queue)
		}
		sched.Refile(list, now)
	}
}
