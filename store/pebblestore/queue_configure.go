package pebblestore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Configure implements store.Store.
func (s *Store) Configure(ctx context.Context, crawl, queue string, ch store.QueueChange) error {
	crawl, err := sched.CheckConfigure(crawl, queue, &ch)
	if err != nil {
		return err
	}
	o := &configureOp{crawl: crawl, queue: queue, change: ch}
	if err := s.do(ctx, o); err != nil {
		return err
	}
	for some := range slices.Chunk(o.refile, refileQueues) {
		// The change is made, so the end of ctx does not stop this.
		err := s.do(context.WithoutCancel(ctx), readOp(func(tx *txn) error {
			tx.refile(some)
			return nil
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

type configureOp struct {
	crawl, queue string
	change       store.QueueChange
	refile       []*sched.Queue // by further steps
}

func (o *configureOp) weight() int { return 1 }

func (o *configureOp) apply(tx *txn) error {
	s := tx.s
	switch {
	case o.crawl == sched.AnyCrawl:
		sched.Change(&s.sched.Defaults, &o.change)
		s.sched.changed = true
		for _, c := range s.crawls {
			o.refiles(c)
		}
		return nil
	case o.change.MustExist && !o.exists(tx):
		return fmt.Errorf("cannot configure queue %q of crawl %q: %w", o.queue, o.crawl, store.ErrNotFound)
	}
	c := tx.crawl(o.crawl, true)
	if o.queue == "" {
		sched.Change(&c.queues.Settings, &o.change)
		tx.changedCrawl(c)
		o.refiles(c)
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

// refiles notes the queues of a crawl that must be filed again after a change to its
// settings or to those of the store.
func (o *configureOp) refiles(c *crawl) {
	if !sched.Refiles(&o.change) {
		return
	}
	o.refile = slices.AppendSeq(slices.Grow(o.refile, len(c.queues.loaded)), maps.Values(c.queues.loaded))
}

// refileQueues is how many queues one step files again: a few milliseconds.
const refileQueues = 1 << 12

// refile files queues again that are still in memory. One that was read or made since the
// change is filed by it.
func (tx *txn) refile(queues []*sched.Queue) {
	sched.Refile(slices.DeleteFunc(queues, func(q *sched.Queue) bool {
		c := tx.s.crawlOf(q)
		return c == nil || c.queues.loaded[q.Name] != q
	}), sched.Now(tx.now))
}
