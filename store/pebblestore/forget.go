package pebblestore

import (
	"context"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Forget implements store.Store.
//
// A crawl is forgotten immediately, whatever its size; but if it has thousands of leases, their URLs are forgotten
// before the rest, in steps. Keys are forgotten by age in whole generations: a
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
	err := s.do(ctx, o)
	if err != nil {
		s.forgetLater(o.left)
	}
	return o.n, err
}

// forgetOp forgets what a selection has, in as many steps as it takes.
type forgetOp struct {
	sel    store.Selection // of its keys, those that are left
	from   string          // the crawl to continue with, of all
	part   int             // how many of the keys are being looked for in the crawls
	leases int             // of the crawl, still to be forgotten before it
	left   []*retired      // queues to forget before anything else
	done   bool            // nothing else is to be forgotten
	n      int64
}

func (o *forgetOp) weight() int { return firstRows }

func (o *forgetOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	for len(o.left) > 0 && !tx.left.spent() {
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
	}
	if len(o.left) == 0 && !o.done && !tx.left.spent() {
		if err := o.forgetCrawls(tx); err != nil {
			return err
		}
	}
	if !o.done || len(o.left) > 0 {
		return errMore
	}
	return nil
}

// forgetCrawls forgets what is selected of some crawls.
func (o *forgetOp) forgetCrawls(tx *txn) error {
	defer tx.s.pruneCrawls()
	if o.from == "" {
		o.part = min(len(o.sel.Keys), tx.left.rows)
	}
	for _, c := range tx.s.selected(o.sel.Crawl, o.from) {
		if o.from = c.name; tx.left.spent() {
			return nil
		}
		tx.left.rows--
		n, all, err := o.forget(tx, c)
		if o.n += n; err != nil || !all {
			return err
		}
	}
	o.from = ""
	o.sel.Keys = o.sel.Keys[o.part:]
	o.done = len(o.sel.Keys) == 0
	return nil
}

// forget forgets what is selected of a crawl, and returns how many keys that were and whether it is all.
func (o *forgetOp) forget(tx *txn, c *crawl) (n int64, all bool, err error) {
	switch {
	case o.sel.Keys != nil:
		n, err = tx.forgetKeys(c, o.sel.Keys[:o.part])
		return n, true, err
	case o.sel.Queue != "":
		n, left, err := tx.forgetQueue(c, o.sel.Queue)
		o.left = append(o.left, slices.DeleteFunc(left, func(r *retired) bool { return r.finished })...)
		return n, true, err
	}
	// All else of a crawl goes with a few range deletions, but the rows of its leases are among those of all crawls. If
	// there are many, they are forgotten first: as many as there are now, since others may be given meanwhile.
	if n := len(c.queues.Leases); o.leases == 0 || o.leases > n {
		o.leases = n
	}
	if o.leases > mostRows {
		keys := make([]store.Key, 0, tx.left.rows)
		for k := range c.queues.Leases {
			if keys = append(keys, k); len(keys) == cap(keys) {
				break
			}
		}
		o.leases -= len(keys)
		n, err = tx.forgetKeys(c, keys)
		return n, false, err
	}
	o.leases = 0
	return tx.forgetCrawl(c), true, nil
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
	c.gone = true
	if x := c.seen.x; x != nil {
		c.seen.x = nil
		tx.s.keeper.releasing.Go(x.Close) // which takes long for a large one
	}
	c.seen.close()
	return n
}

// forgetKeys removes single keys. The rows are looked for first, so that an
// error leaves everything as it was.
func (tx *txn) forgetKeys(c *crawl, keys []store.Key) (int64, error) {
	tx.left.rows -= len(keys)
	in, err := tx.s.recordedIn(c, keys)
	if err != nil {
		return 0, err
	}
	list := make([]sought, 0, len(in))
	for k := range in {
		list = append(list, sought{key: k})
	}
	if err := tx.findAll(c, list); err != nil {
		return 0, err
	}
	for _, r := range tx.s.sched.retired {
		if r.q.c == c {
			r.since = 0 // one of its keys may be new from now on, without a place
		}
	}
	for i := range list {
		f, k := &list[i].found, &list[i].key
		tx.release(c, f)
		if f.lease != nil || f.ptr.queue != 0 {
			tx.deletePlace(c, k)
		}
		tx.dropKey(c, in[*k], k)
	}
	return int64(len(list)), nil
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
	for _, l := range qs.Leases {
		if !l.Queue.Retired() { // or it is below
			tx.deleteLease(l)
		}
	}
	tx.s.sched.loaded -= len(qs.loaded)
	qs.loaded, qs.byNum = nil, nil // without a look at each
	for _, table := range []byte{tablePlace, tableOrder, tableQueue, tableName, tableDone, tableRetired} {
		tx.deleteRange(appendNumbered(nil, table, c.num), afterNumbered(table, c.num))
	}
	for _, r := range slices.Clone(tx.s.sched.retired) {
		if r.q.c == c {
			for _, l := range r.q.Leases(r.q.Leased()) {
				tx.deleteLease(l)
			}
			tx.s.sched.finish(r)
		}
	}
	qs.Restore(sched.Counts{}) // the scheduler drops a crawl that holds nothing
}
