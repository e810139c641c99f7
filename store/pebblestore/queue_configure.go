package pebblestore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Configure implements store.Store.
func (s *Store) Configure(ctx context.Context, crawl, queue string, ch store.QueueChange) error {
	crawl, err := sched.CheckConfigure(crawl, queue, &ch)
	if err != nil {
		return err
	}
	ownChange(&ch)
	return s.do(ctx, &configureOp{crawl, queue, ch})
}

type configureOp struct {
	crawl, queue string
	change       store.QueueChange
}

func (o *configureOp) weight() int { return 1 }

func (o *configureOp) apply(tx *txn) error {
	defer tx.file()
	s := tx.s
	switch {
	case o.crawl == sched.AnyCrawl:
		sched.Change(&s.sched.Defaults, &o.change)
		s.sched.changed = true
		for _, c := range s.crawls {
			tx.refile(c, &o.change)
		}
		return nil
	case o.change.MustExist && !o.exists(tx):
		return fmt.Errorf("cannot configure queue %q of crawl %q: %w", o.queue, o.crawl, store.ErrNotFound)
	}
	c := tx.crawl(o.crawl, true)
	if o.queue == "" {
		sched.Change(&s.queuesOf(c).Settings, &o.change)
		tx.changedCrawl(c)
		tx.refile(c, &o.change)
		return nil
	}
	q := tx.queue(c, o.queue)
	q.Configure(&o.change, sched.Now(tx.now))
	tx.changedQueue(q)
	return nil
}

// exists reports whether the queue holds, has completed or has dropped anything,
// or whether the crawl is known, with queue "".
func (o *configureOp) exists(tx *txn) bool {
	c := tx.s.crawls[o.crawl]
	if c == nil || o.queue == "" {
		return c != nil
	}
	q := tx.oldQueue(c, o.queue)
	return q != nil && q.Used()
}

// refile files all queues of a crawl again after a change to its settings or to those of
// the store.
func (tx *txn) refile(c *crawl, ch *store.QueueChange) {
	if !sched.Refiles(ch) {
		return
	}
	list := make([]*sched.Queue, 0, len(c.queues.loaded))
	for _, q := range c.queues.loaded {
		list = append(list, q)
	}
	sched.Refile(list, sched.Now(tx.now))
}
