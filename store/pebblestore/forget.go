package pebblestore

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Forget implements store.Store.
//
// A crawl goes in no time, whatever its size. Keys by age go by generation: one
// whose last key was recorded before the time is dropped, with range deletions.
// Its rows are read once (not rewritten), to take them out of the index. So a key
// may outlive the time by up to Options.Generation. Keys held in a queue stay, and
// count as recorded anew. Forgetting by age goes in durable steps of some thousand
// keys, and other steps go on between them: what was forgotten before an error
// stays forgotten, and the rest goes when it is done again. A queue, or keys that are
// named, go in one step, however many they are: other steps wait for it.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	if _, err := sched.CheckSelection(sel); err != nil {
		return 0, err
	}
	if !sel.Before.IsZero() || sel.Age > 0 {
		return s.forgetOld(ctx, sel)
	}
	sel.Keys = slices.Clone(sel.Keys) // a step that failed may still be read
	o := &forgetOp{sel: sel}
	if err := s.do(ctx, o); err != nil {
		return 0, err
	}
	return o.n, nil
}

type forgetOp struct {
	sel store.Selection
	n   int64
}

func (o *forgetOp) weight() int { return len(o.sel.Keys) }

func (o *forgetOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	for _, c := range tx.s.selected(o.sel.Crawl) {
		n, err := o.forget(tx, c)
		if err != nil {
			return err
		}
		o.n += n
	}
	tx.flush() // what was forgotten must not be found by a look-up of this group
	return nil
}

func (o *forgetOp) forget(tx *txn, c *crawl) (int64, error) {
	switch {
	case o.sel.Keys != nil:
		return tx.forgetKeys(c, o.sel.Keys)
	case o.sel.Queue != "":
		return tx.forgetQueue(c, o.sel.Queue)
	}
	return tx.forgetCrawl(c), nil
}

// forgetCrawl drops a crawl with all it has.
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

// dropGeneration removes the rows of g.
func (tx *txn) dropGeneration(g *generation) {
	tx.delete(appendNumbered(nil, tableGen, g.num))
	tx.deleteRange(appendNumbered(nil, tableSeen, g.num), afterNumbered(tableSeen, g.num))
}

// forgetKeys removes single keys. The rows are looked for first, so that an
// error leaves everything as it was.
func (tx *txn) forgetKeys(c *crawl, keys []store.Key) (int64, error) {
	found := map[store.Key]*generation{}
	for i := range keys {
		g, err := tx.s.generationOf(c, &keys[i])
		if err != nil {
			return 0, err
		}
		if g != nil {
			found[keys[i]] = g
		}
	}
	for k, g := range found {
		tx.forgetHeld(c, &k)
		c.seen.remove(&k)
		tx.delete(appendSeenRow(nil, g.num, &k))
		g.keys--
		tx.touch(c, g)
	}
	return int64(len(found)), nil
}

// generationOf returns the generation that has a committed row of k, or nil.
func (s *Store) generationOf(c *crawl, k *store.Key) (*generation, error) {
	for _, g := range slices.Backward(c.gens) {
		_, closer, err := s.db.Get(appendSeenRow(nil, g.num, k))
		if err == nil {
			return g, closer.Close()
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return nil, err
		}
	}
	return nil, nil
}
