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
	o := &configureOp{crawl: crawl, queue: queue, change: ch}
	if _, err := s.step(ctx, o, firstRows); err != errMore { //nolint:errorlint // nothing wraps it
		return err
	}
	return s.do(context.WithoutCancel(ctx), o) // the change is made
}

// configureOp makes a change, and then files those queues again that it may concern.
type configureOp struct {
	crawl, queue string
	change       store.QueueChange
	made         bool
	from         string // the crawl to continue with, of all, and the number of the queue in it
	num          uint32
}

func (o *configureOp) weight() int { return firstRows }

func (o *configureOp) apply(tx *txn) error {
	if !o.made {
		if err := o.make(tx); err != nil || o.queue != "" || !sched.Refiles(&o.change) {
			return err
		}
		o.made = true
	}
	return o.refile(tx)
}

// make makes the change.
func (o *configureOp) make(tx *txn) error {
	s := tx.s
	switch {
	case o.crawl == sched.AnyCrawl:
		sched.Change(&s.sched.Defaults, &o.change)
		s.sched.changed = true
		return nil
	case o.change.MustExist && !o.exists(tx):
		return fmt.Errorf("cannot configure queue %q of crawl %q: %w", o.queue, o.crawl, store.ErrNotFound)
	}
	c := tx.crawl(o.crawl, true)
	if o.queue == "" {
		sched.Change(&c.queues.Settings, &o.change)
		tx.changedCrawl(c)
		return nil
	}
	q := tx.queue(c, o.queue)
	q.Configure(&o.change, sched.Now(tx.now))
	tx.changedQueue(q)
	return nil
}

// refile files some queues again, in order of number: no list of them has to be made. One that is read or made after the
// change is filed by it.
func (o *configureOp) refile(tx *txn) error {
	var some []*sched.Queue
	for _, c := range tx.s.selected(o.crawl, o.from) {
		if c.name != o.from {
			o.from, o.num = c.name, 0
		}
		for ; o.num < c.queues.next; o.num++ {
			if tx.left.spent() {
				sched.Refile(some, sched.Now(tx.now))
				return errMore
			}
			tx.left.rows--
			if q := c.queues.byNum[o.num]; q != nil {
				some = append(some, q)
			}
		}
	}
	sched.Refile(some, sched.Now(tx.now))
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
