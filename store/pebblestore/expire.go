package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// expireKeys is how many keys one step of forgetting by age goes through: a few
// milliseconds. expireURLs is how many places of URLs it finds or looks for, which
// cost a read or two each.
const expireKeys, expireURLs = 1 << 14, 1 << 12

// forgetOld forgets by age, in steps.
func (s *Store) forgetOld(ctx context.Context, sel store.Selection) (n int64, err error) {
	for at := (expiry{}); !at.done; {
		o := &expireOp{sel: sel, at: at}
		if err := s.do(ctx, o); err != nil {
			return n, err
		}
		n += o.n
		if at, sel = o.at, o.sel; at.packed {
			if err := s.flushRuns(); err != nil {
				return n, err
			}
			at.packed = false
		}
	}
	return n, nil
}

// expiry is how far forgetting by age has come.
type expiry struct {
	crawl  string // the crawl it is in
	limit  uint32 // generations from here on are younger than the call
	packed bool   // the next generation has packed rows, of which runs are to be made
	done   bool
}

// expireOp goes through some keys of one generation that is old.
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
	if g.packed > 0 {
		o.at.packed = true
		return nil
	}
	keys, err := tx.oldKeys(c, g)
	if err != nil {
		return err
	}
	o.forget(tx, c, g, keys)
	tx.flush() // a look-up of this group must not find forgotten keys
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
			last := i == len(c.gens)-1
			if g.num >= o.at.limit || last && g.keys == 0 || !g.last.Before(o.sel.Before) {
				continue
			}
			if last {
				tx.addGeneration(c)
			}
			return c, g
		}
	}
	return nil, nil
}

// oldKeys are some keys of an old generation, in order.
type oldKeys struct {
	gone []store.Key // not held
	done []pointed   // of these, those that were queued once
	held []pointed
	last *store.Key // up to which they go; nil: the generation has no more
}

// oldKeys reads the next keys of g, and which of them have a URL.
func (tx *txn) oldKeys(c *crawl, g *generation) (old oldKeys, err error) {
	keys, end, err := g.keysFrom(expireKeys)
	if err != nil || len(keys) == 0 {
		return old, err
	}
	places, err := tx.placesOf(c, &keys[0], &keys[len(keys)-1])
	if err != nil {
		return old, err
	}
	n := 0
	for ; n < len(keys) && places.read < expireURLs && places.err == nil && tx.err == nil; n++ {
		k := &keys[n]
		if g.hidden(k) {
			continue
		}
		p := pointed{*k, places.find(k)}
		switch {
		case p.queue == 0:
		case tx.holds(c, &p):
			old.held = append(old.held, p)
			continue
		default:
			old.done = append(old.done, p)
		}
		old.gone = append(old.gone, *k)
	}
	if n < len(keys) || !end {
		old.last = &keys[n-1]
	}
	return old, errors.Join(tx.err, places.err, places.it.Close())
}

// keysFrom returns the keys of g from low on, hidden ones as well: at least n, unless it
// ends.
func (g *generation) keysFrom(n int) (keys []store.Key, end bool, err error) {
	sources := make([]runfile.Source, len(g.runs))
	for i, r := range g.runs {
		sources[i] = r.Read(g.low)
	}
	merged := runfile.Merge(sources)
	for len(keys) < n {
		page, err := merged.Next()
		if err != nil || len(page) == 0 {
			return keys, true, err
		}
		keys = append(keys, page...)
	}
	return keys, false, nil
}

// placeFinder finds the places of ascending keys of a crawl.
type placeFinder struct {
	tx   *txn
	c    *crawl
	it   *pebble.Iterator // at the first row that is not before the last key
	read int              // places that were found or looked for in the rows
	err  error
}

// placesOf returns a finder for the places of keys from lo to hi.
func (tx *txn) placesOf(c *crawl, lo, hi *store.Key) (*placeFinder, error) {
	it, err := tx.s.db.NewIter(bounds(appendKeyRow(nil, tablePlace, c.num, lo), append(appendKeyRow(nil, tablePlace, c.num, hi), 0)))
	if err != nil {
		return nil, err
	}
	it.First()
	return &placeFinder{tx: tx, c: c, it: it}, nil
}

// find returns where k may have a URL, the zero pointer if it has none.
func (f *placeFinder) find(k *store.Key) (p pointer) {
	if e := f.tx.s.sched.places.get(placeKey{f.c.num, *k}); e != nil {
		f.read++
		return e.pointer()
	}
	if f.it.Valid() && bytes.Compare(f.it.Key()[5:], k[:]) < 0 {
		f.read++
		f.it.SeekGE(appendKeyRow(nil, tablePlace, f.c.num, k))
	}
	if f.it.Valid() && bytes.Equal(f.it.Key()[5:], k[:]) {
		var value []byte
		if value, f.err = f.it.ValueAndErr(); f.err == nil {
			p, f.err = parsePointer(value)
		}
	}
	f.err = cmp.Or(f.err, f.it.Error())
	return p
}

// forget forgets the keys that were read, and the generation after its last ones.
func (o *expireOp) forget(tx *txn, c *crawl, g *generation, old oldKeys) {
	o.n = int64(len(old.gone))
	if old.last == nil {
		c.dropped(g)
		tx.dropGeneration(g)
	} else {
		low := *old.last
		g.low = &low
		g.keys -= int64(len(old.gone) + len(old.held))
		tx.touch(g)
	}
	for i := range old.gone {
		tx.s.texts.drop(c.num, &old.gone[i])
		c.seen.remove(&old.gone[i])
	}
	tx.keepHeld(c, o.at.limit, old.held)
	tx.forgetDone(c, old.done)
}

// dropped takes g out of c.
func (c *crawl) dropped(g *generation) {
	c.gens = slices.DeleteFunc(slices.Clone(c.gens), func(other *generation) bool { return other == g })
}

// keepHeld packs keys whose generation went, as if they were recorded now:
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
		if !tx.revive(g, &keys[i].key) {
			tx.pack(g, &keys[i].key)
			c.seen.packed(&keys[i].key)
		}
	}
	tx.recorded(g, int64(len(keys)))
}
