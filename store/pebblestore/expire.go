package pebblestore

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// expireKeys is how many rows one step of forgetting by age goes through: a few
// milliseconds.
const expireKeys = 1 << 14

// forgetOld forgets by age, in steps.
func (s *Store) forgetOld(ctx context.Context, sel store.Selection) (n int64, err error) {
	for at := (expiry{}); !at.done; {
		o := &expireOp{sel: sel, at: at}
		if err := s.do(ctx, o); err != nil {
			return n, err
		}
		n += o.n
		at, sel = o.at, o.sel
	}
	return n, nil
}

// expiry is how far forgetting by age has come.
type expiry struct {
	crawl string    // the crawl it is in
	limit uint32    // generations from here on are younger than the call
	gen   uint32    // the generation it is in
	from  store.Key // the first key there that it hasn't been at
	done  bool
}

// expireOp goes through some rows of one generation that is old.
type expireOp struct {
	sel store.Selection
	at  expiry
	n   int64 // keys forgotten
}

func (o *expireOp) weight() int { return expireKeys }

func (o *expireOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	if o.at.limit == 0 {
		if err := o.judge(tx); err != nil {
			return err
		}
		o.at.limit = tx.s.nextGen
	}
	c, g := o.next(tx)
	if g == nil {
		o.at.done = true
		return nil
	}
	rows, err := o.read(tx, c, g)
	if err != nil {
		return err
	}
	o.forget(tx, c, g, rows)
	tx.flush() // what was forgotten must not be found by a look-up of this group
	return nil
}

// judge turns an age into a time, unless the clock is in doubt.
func (o *expireOp) judge(tx *txn) error {
	if o.sel.Age <= 0 {
		return nil
	}
	s := tx.s
	now, err := s.wall.Judge(tx.now, s.opt.monotonic(), o.sel.Age)
	if err != nil {
		return err
	}
	tx.writeWallTime()
	o.sel.Before = now.Add(-o.sel.Age)
	return nil
}

// next returns a generation whose last key was recorded before the time, and its
// crawl. If it takes new keys, another does from now on.
func (o *expireOp) next(tx *txn) (*crawl, *generation) {
	for _, c := range tx.s.fromCrawl(o.sel.Crawl, o.at.crawl) {
		o.at.crawl = c.name
		for i, g := range c.gens {
			if g.num >= o.at.limit || g.keys == 0 || !g.last.Before(o.sel.Before) {
				continue
			}
			if i == len(c.gens)-1 {
				tx.addGeneration(c)
			}
			if g.num != o.at.gen {
				o.at.gen, o.at.from = g.num, store.Key{}
			}
			return c, g
		}
	}
	return nil, nil
}

// oldRows are some rows of an old generation.
type oldRows struct {
	gone []store.Key // not held
	done []pointed   // of these, those that were queued once
	held []pointed
	last []byte // row; nil: of the generation
}

// read reads the next rows of g.
func (o *expireOp) read(tx *txn, c *crawl, g *generation) (rows oldRows, err error) {
	it, err := tx.s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendSeenRow(nil, g.num, &o.at.from), UpperBound: afterNumbered(tableSeen, g.num),
	})
	if err != nil {
		return rows, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = rows.add(tx, c, it.Key(), value)
		}
		if err != nil {
			return rows, err
		}
		if n++; n == expireKeys {
			rows.last = append([]byte(nil), it.Key()...)
			break
		}
	}
	return rows, it.Error()
}

// add sorts a row in.
func (r *oldRows) add(tx *txn, c *crawl, row, value []byte) error {
	p := pointed{key: store.Key(row[5:])}
	if len(value) > 0 {
		ptr, err := parsePointer(value)
		if err != nil {
			return err
		}
		p.pointer = ptr
		if tx.holds(c, &p) {
			r.held = append(r.held, p)
			return tx.err
		}
		r.done = append(r.done, p)
	}
	r.gone = append(r.gone, p.key)
	return tx.err
}

// forget removes the rows of g up to the last one read, and the generation after
// its last row.
func (o *expireOp) forget(tx *txn, c *crawl, g *generation, rows oldRows) {
	o.n = int64(len(rows.gone))
	if rows.last == nil {
		c.dropped(g)
		tx.dropGeneration(g)
		tx.untouch(g)
	} else {
		lo := appendSeenRow(nil, g.num, &o.at.from)
		o.at.from = store.Key(rows.last[5:])
		tx.deleteRange(lo, append(rows.last, 0))
		g.keys -= int64(len(rows.gone) + len(rows.held))
		tx.touch(c, g)
	}
	tx.keepHeld(c, o.at.limit, rows.held)
	for i := range rows.gone {
		tx.s.texts.drop(c.num, &rows.gone[i])
		c.seen.remove(&rows.gone[i])
	}
	tx.forgetDone(c, rows.done)
}

// dropped takes g out of c.
func (c *crawl) dropped(g *generation) {
	c.gens = slices.DeleteFunc(slices.Clone(c.gens), func(other *generation) bool { return other == g })
}

// keepHeld writes rows for keys whose generation went, as if they were recorded now:
// into a generation from the limit on, since one that is older may have to go, too.
func (tx *txn) keepHeld(c *crawl, limit uint32, keys []pointed) {
	if len(keys) == 0 {
		return
	}
	g := tx.generation(c)
	if g.num < limit {
		g = tx.addGeneration(c)
	}
	for i := range keys {
		tx.setPointer(g, &keys[i].key, &keys[i].pointer)
	}
	tx.recorded(c, g, int64(len(keys)))
}
