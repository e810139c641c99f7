package pebblestore

import (
	"context"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Forget implements store.Store.
//
// A crawl is forgotten immediately, whatever its size. Keys are forgotten by age in whole generations: a
// generation whose last key was recorded before the time is dropped, with range deletions.
// Its rows are read once (not rewritten), to remove them from the index. So a key
// may outlive the time by up to the span of a generation. Keys held in a queue stay, and
// count as recorded again.
//
// Forgetting by age takes durable steps of a few thousand keys. So does forgetting a queue, or
// named keys, of more than a thousand URLs, and forgetting anything of all crawls. Other steps run between
// them. The first step empties a queue: URLs that are added later stay. If the call is interrupted or the
// machine stops, the rest of a queue is still forgotten; the rest of keys by age or by name, and of all
// crawls, only if the call is repeated.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	if _, err := sched.CheckSelection(sel); err != nil {
		return 0, err
	}
	if !sel.Before.IsZero() || sel.Age > 0 {
		return s.forgetOld(ctx, sel)
	}
	o := &forgetOp{sel: sel}
	n, err := s.forgetSteps(ctx, o)
	if err != nil {
		s.forgetLater(o.left)
	}
	return n, err
}

// forgetSteps carries o out, and returns how many keys it forgot.
func (s *Store) forgetSteps(ctx context.Context, o *forgetOp) (n int64, err error) {
	for ; !o.done || len(o.left) > 0; n = o.n {
		if err := s.do(ctx, o); err != nil {
			return n, err
		}
	}
	return n, nil
}

// forgetCrawls is how many crawls one step of forgetting goes through, and forgetLookups
// how many keys it looks up in all of them.
const forgetCrawls, forgetLookups = 256, 1 << 14

// forgetOp forgets what a selection has, in as many steps as it takes.
type forgetOp struct {
	sel  store.Selection // of its keys, those that are left
	from string          // the crawl to continue with, of all
	left []*retired      // queues to forget before anything else
	done bool            // nothing else is to be forgotten
	n    int64
}

func (o *forgetOp) weight() int {
	if len(o.left) > 0 {
		return forgetRows
	}
	return min(len(o.sel.Keys), forgetRows)
}

func (o *forgetOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	if len(o.left) > 0 {
		return o.forgetLeft(tx)
	}
	keys := o.sel.Keys[:min(len(o.sel.Keys), forgetRows)]
	crawls, next := tx.s.selected(o.sel.Crawl, o.from), ""
	if n := max(1, min(forgetCrawls, forgetLookups/max(1, len(keys)))); len(crawls) > n {
		next, crawls = crawls[n].name, crawls[:n]
	}
	for _, c := range crawls {
		n, err := o.forget(tx, c, keys)
		if err != nil {
			return err
		}
		o.n += n
	}
	tx.s.pruneCrawls()
	if o.from = next; next == "" {
		o.sel.Keys = o.sel.Keys[len(keys):]
		o.done = len(o.sel.Keys) == 0
	}
	return nil
}

// forgetLeft forgets some of the first queue that is left.
func (o *forgetOp) forgetLeft(tx *txn) error {
	r := o.left[0]
	if !r.finished {
		n, err := tx.forgetSome(r)
		if err != nil {
			return err
		}
		o.n += n
	}
	if r.finished {
		o.left = o.left[1:]
	}
	return nil
}

func (o *forgetOp) forget(tx *txn, c *crawl, keys []store.Key) (int64, error) {
	switch {
	case o.sel.Keys != nil:
		return tx.forgetKeys(c, keys)
	case o.sel.Queue != "":
		n, left, err := tx.forgetQueue(c, o.sel.Queue)
		o.left = append(o.left, left...)
		return n, err
	}
	return tx.forgetCrawl(c), nil
}

// forgetCrawl drops a crawl with all it has; pruneCrawls must follow.
func (tx *txn) forgetCrawl(c *crawl) int64 {
	n := c.count()
	for _, g := range c.gens {
		tx.dropGeneration(g)
	}
	tx.forgetQueues(c)
	tx.delete(appendNumbered(nil, tableCrawl, c.num))
	delete(tx.s.crawls, c.name)
	delete(tx.s.byNum, c.num)
	c.seen.close()
	return n
}

// forgetKeys removes single keys. The rows are looked for first, so that an
// error leaves everything as it was.
func (tx *txn) forgetKeys(c *crawl, keys []store.Key) (int64, error) {
	found, err := tx.s.recordedIn(c, keys)
	if err != nil {
		return 0, err
	}
	for k, g := range found {
		f := tx.find(c, &k)
		tx.release(c, &f)
		if f.lease != nil || f.ptr.queue != 0 {
			tx.deletePlace(c, &k)
		}
		tx.dropKey(c, g, &k)
	}
	return int64(len(found)), nil
}

// dropKey removes a key that was recorded in g.
func (tx *txn) dropKey(c *crawl, g *generation, k *store.Key) {
	tx.s.texts.drop(c.num, k)
	c.seen.remove(k)
	tx.kill(g, k)
	g.keys--
	tx.touch(g)
}

// forgetQueues removes the queue rows and state of a whole crawl, within a
// Forget; the seen side is the engine's.
func (tx *txn) forgetQueues(c *crawl) {
	qs := &c.queues
	tx.delete(appendNumbered(nil, tableCrawlQueues, c.num))
	qs.changed = false
	if qs.next == 1 {
		return // it never had a queue
	}
	for _, q := range qs.loaded {
		tx.deleteLeases(q)
		tx.s.sched.drop(qs, q)
	}
	for _, table := range []byte{tablePlace, tableOrder, tableQueue, tableName, tableDone, tableRetired} {
		tx.deleteRange(appendNumbered(nil, table, c.num), afterNumbered(table, c.num))
	}
	for _, r := range slices.Clone(tx.s.sched.retired) {
		if r.c == c {
			tx.deleteLeases(r.q)
			tx.s.sched.finish(r)
		}
	}
	qs.Restore(sched.Counts{}) // the scheduler drops a crawl that holds nothing
}

// deleteLeases removes the rows of the leases of a queue.
func (tx *txn) deleteLeases(q *sched.Queue) {
	for _, l := range q.Leases(q.Leased()) {
		tx.deleteLease(l)
	}
}
