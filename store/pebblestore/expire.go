package pebblestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Forgetting by age goes through the generations whose last key is old enough, a part of their keys at a time in order of key,
// and drops each at its end. The clock may be wrong: sched.Clock judges it by the latest time at which it was right, which a
// row keeps.

// keysOfRow is how many keys of a crawl that never had a queue take as long to forget as one that may have a URL, which costs
// a read or two.
const keysOfRow = 8

// forgetOld forgets by age, in steps.
func (s *Store) forgetOld(ctx context.Context, sel store.Selection) (n int64, err error) {
	for o := (&expireOp{sel: sel}); ; {
		err := s.do(ctx, firstRows, o.apply)
		if err != nil && s.isStuck() {
			return n, err
		}
		if n = o.n; err != nil || !o.packed {
			return n, err
		}
		if err := s.flushRuns(); err != nil {
			return o.n, err
		}
	}
}

// expireOp goes through the generations that are old, until it comes to one with packed rows.
type expireOp struct {
	sel    store.Selection
	crawl  string // the crawl it is in
	limit  uint32 // generations from here on are younger than the call
	packed bool   // the next generation has packed rows, of which runs are to be made
	n      int64  // keys forgotten
}

func (o *expireOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	if o.limit == 0 {
		if err := o.judge(tx); err != nil {
			return err
		}
		o.limit = tx.s.nextGen
	}
	c, g := o.next(tx)
	if o.packed = g != nil && g.packed() > 0; g == nil || o.packed {
		return nil
	}
	keys, err := tx.oldKeys(c, g)
	if err != nil {
		return err
	}
	o.forget(tx, c, g, keys)
	tx.flush() // a list of keys that begins now must find the held ones in their new generation
	return errMore
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
	for _, c := range tx.s.selected(o.sel.Crawl, o.crawl) {
		o.crawl = c.name
		for i, g := range c.gens {
			last := i == len(c.gens)-1
			if g.num >= o.limit || last && g.keys == 0 || !g.last.Before(o.sel.Before) {
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
	done []*sought   // of these, those that were queued once
	held []store.Key
	last *store.Key // up to which they go; nil: the generation has no more
}

// oldKeys reads the next keys of g, and which of them have a URL.
func (tx *txn) oldKeys(c *crawl, g *generation) (old oldKeys, err error) {
	n := tx.left.rows
	if c.queues.next == 1 {
		n *= keysOfRow
	}
	keys, end, err := g.keysFrom(n)
	if err != nil {
		return old, err
	}
	if !end {
		old.last = new(keys[len(keys)-1])
	}
	list := make([]sought, 0, len(keys))
	for i := range keys {
		if !g.hidden(&keys[i]) {
			list = append(list, sought{key: keys[i]})
		}
	}
	if c.queues.next > 1 {
		c.locate(tx.s, list)
		if old.done, err = findQueued(tx.s.db, c.num, list); err != nil {
			return old, err
		}
	}
	for i := range list {
		switch l := &list[i]; l.state {
		case store.Queued, store.Leased: // it must not be forgotten for its age
			old.held = append(old.held, l.key)
		default:
			old.gone = append(old.gone, l.key)
		}
	}
	return old, nil
}

// keysFrom returns the next n keys of g from low on, hidden ones as well, and whether it has no more.
func (g *generation) keysFrom(n int) (keys []store.Key, end bool, err error) {
	sources := make([]runfile.Source, len(g.runs))
	for i, r := range g.runs {
		sources[i] = r.Read(g.low)
	}
	merged := runfile.Merge(sources)
	for len(keys) <= n {
		page, err := merged()
		if err != nil || len(page) == 0 {
			return keys, true, err
		}
		keys = append(keys, page...)
	}
	return keys[:n], false, nil
}

// forget forgets the keys that were read, and the generation after its last ones.
func (o *expireOp) forget(tx *txn, c *crawl, g *generation, old oldKeys) {
	o.n += int64(len(old.gone))
	if old.last == nil {
		c.gens = slices.DeleteFunc(slices.Clone(c.gens), func(other *generation) bool { return other == g })
		tx.dropGeneration(g)
	} else {
		g.low = old.last
		g.keys -= int64(len(old.gone) + len(old.held))
		tx.touch(g)
	}
	for i := range old.gone {
		tx.s.texts.drop(c.num, &old.gone[i])
		c.seen.remove(&old.gone[i])
	}
	for _, l := range old.done {
		tx.delete(appendDoneRow(nil, c.num, l.ptr.queue, &l.key))
		tx.deletePlace(c, &l.key)
	}
	tx.keepHeld(c, o.limit, old.held)
}

// keepHeld packs keys whose generation went, or that left it, as if they were recorded now:
// into a generation from the limit on, since one that is older may have to go, too.
func (tx *txn) keepHeld(c *crawl, limit uint32, keys []store.Key) {
	if len(keys) == 0 {
		return
	}
	g := tx.generation(c)
	if g.num < limit {
		g = tx.addGeneration(c)
	}
	for i := range keys {
		if !tx.revive(g, &keys[i]) {
			tx.pack(g, &keys[i])
			c.seen.add(&keys[i])
		}
	}
	tx.recorded(g, int64(len(keys)))
}

// ages reports whether the keys of a crawl are remembered from their last fetch on: its user wants them to be forgotten by age. No
// other crawl pays for it.
func (tx *txn) ages(c *crawl) bool { return c.queues.Settings.Retention > 0 || tx.s.retained > 0 }

// aged reports whether the key of a URL that was fetched may be in an older generation than the one that takes new keys, judged by when its
// text was first kept: to look for each key would cost more than the fetch of its URL is worth.
func (tx *txn) aged(c *crawl, rec *sched.Record) bool {
	return tx.ages(c) && rec.Created < sched.Now(tx.generation(c).created)
}

// renew moves keys to the generation that takes new ones, as keepHeld does, since they were fetched now. A key that damage hides
// stays where it is: it is forgotten early, and its page fetched again.
func (tx *txn) renew(c *crawl, keys []store.Key) {
	if len(keys) == 0 || c.gone {
		return
	}
	in, err := tx.s.recordedIn(c, keys)
	if err != nil {
		if !tx.isDamage(err) {
			tx.fail(err)
		}
		return
	}
	limit := tx.generation(c).num
	var moved []store.Key
	for i := range in {
		if in[i].g.num != limit {
			tx.kill(&in[i])
			moved = append(moved, in[i].key)
		}
	}
	tx.keepHeld(c, limit, moved)
}

// wallTime is the store's judgement of its clock, and the time that is on disk.
type wallTime struct {
	sched.Clock
	written time.Time
}

// wallTimeEvery is how old the time on disk may get: a sweep after a crash takes the
// clock for that much more ahead than it is.
const wallTimeEvery = time.Minute

// loadWallTime reads the latest time at which the clock was right; otherwise it is when a key was
// last recorded, the zero time for a store without any.
func (s *Store) loadWallTime() error {
	var latest time.Time
	for g := range s.generations() {
		if g.last.After(latest) {
			latest = g.last
		}
	}
	err := readRow(s.db, metaKey(metaWallTime), func(row []byte) error {
		if len(row) != 8 {
			return fmt.Errorf("cannot read the time of the clock; got %x: %w", row, store.ErrCorrupt)
		}
		latest = time.Unix(0, int64(binary.BigEndian.Uint64(row)))
		s.wall.written = latest
		return nil
	})
	s.wall.Restore(latest)
	return err
}

// keepWallTime writes the time with a group that writes anyway, every minute.
func (tx *txn) keepWallTime() {
	if w := &tx.s.wall; !tx.batch.Empty() && w.Latest().Sub(w.written) >= wallTimeEvery {
		tx.writeWallTime()
	}
}

func (tx *txn) writeWallTime() {
	w := &tx.s.wall
	if latest := w.Latest(); !latest.Equal(w.written) {
		w.written = latest
		tx.set(metaKey(metaWallTime), binary.BigEndian.AppendUint64(nil, uint64(latest.UnixNano())))
	}
}
