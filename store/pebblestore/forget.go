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
	if len(sel.Keys) > forgetRows {
		return s.forgetMany(ctx, sel)
	}
	var all int64
	for from, more := "", true; more; {
		o := &forgetOp{sel: sel, from: from}
		if err := s.do(ctx, o); err != nil {
			return all, err
		}
		n, err := s.finishRetired(ctx, o.left)
		if all += o.n + n; err != nil {
			s.forgetLater(o.left)
			return all, err
		}
		from, more = o.next, o.next != ""
	}
	return all, nil
}

// forgetMany forgets keys in several steps.
func (s *Store) forgetMany(ctx context.Context, sel store.Selection) (n int64, err error) {
	for keys := range slices.Chunk(sel.Keys, forgetRows) {
		part, err := s.Forget(ctx, store.Selection{Crawl: sel.Crawl, Keys: keys})
		if n += part; err != nil {
			return n, err
		}
	}
	return n, nil
}

// forgetCrawls is how many crawls one step of forgetting goes through, and forgetLookups
// how many keys it looks up in all of them.
const forgetCrawls, forgetLookups = 256, 1 << 14

type forgetOp struct {
	sel  store.Selection
	from string // the crawl to begin with, of all
	next string // the crawl to continue with, "" if there is none
	n    int64
	left []*retired // queues of which something is left
}

func (o *forgetOp) weight() int { return len(o.sel.Keys) }

func (o *forgetOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	crawls := tx.s.fromCrawl(o.sel.Crawl, o.from)
	if n := max(1, min(forgetCrawls, forgetLookups/max(1, len(o.sel.Keys)))); len(crawls) > n {
		o.next, crawls = crawls[n].name, crawls[:n]
	}
	for _, c := range crawls {
		n, err := o.forget(tx, c)
		if err != nil {
			return err
		}
		o.n += n
	}
	tx.s.pruneCrawls()
	return nil
}

func (o *forgetOp) forget(tx *txn, c *crawl) (int64, error) {
	switch {
	case o.sel.Keys != nil:
		return tx.forgetKeys(c, o.sel.Keys)
	case o.sel.Queue != "":
		n, left, err := tx.forgetQueue(c, o.sel.Queue)
		o.left = append(o.left, left...)
		return n, err
	}
	return tx.forgetCrawl(c), nil
}

// forgetCrawl drops a crawl with all it has.
func (tx *txn) forgetCrawl(c *crawl) int64 {
	n := c.count()
	for _, g := range c.gens {
		tx.dropGeneration(g)
	}
	tx.deleteRange(appendNumbered(nil, tablePlace, c.num), afterNumbered(tablePlace, c.num))
	tx.forgetQueues(c)
	tx.delete(appendNumbered(nil, tableCrawl, c.num))
	tx.s.removeCrawl(c)
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
		tx.forgetHeld(c, &k)
		tx.dropKey(c, g, &k)
	}
	return int64(len(found)), nil
}

// dropKey removes a key that was recorded in g.
func (tx *txn) dropKey(c *crawl, g *generation, k *store.Key) {
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
	for _, table := range []byte{tableOrder, tableQueue, tableName, tableDone, tableRetired} {
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

// forgetHeld removes what the queue side has of a key that is forgotten, held
// or not.
func (tx *txn) forgetHeld(c *crawl, k *store.Key) {
	f := tx.find(c, k)
	tx.s.texts.drop(c.num, k)
	tx.release(c, &f)
	if f.lease != nil || f.ptr.queue != 0 {
		tx.deletePlace(c, k)
	}
}
