package pebblestore

import (
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// keySet answers which keys of a crawl are known, and learns new ones. The
// committer alone uses it. Rows are written by the caller.
//
// Either the fingerprint index answers, or the table of packed keys and the runs.
// While the index is filled after open, both learn, and table and runs answer. With
// Options.Exact they verify what the index calls known.
type keySet struct {
	s *Store
	c *crawl
	// x is the fingerprint index, nil without.
	x *seenindex.Index
	// table has the keys of packed rows whole, and flushing those of packed rows that a
	// flush makes runs of. Nil where the index alone answers.
	table    *seenindex.Index
	flushing []*seenindex.Index

	known, hits []bool
	rest        []uint32
}

// newKeySet returns an empty set for c.
func (s *Store) newKeySet(c *crawl) *keySet {
	n := &keySet{s: s, c: c}
	if s.useIndex {
		n.x = seenindex.New(&s.secret)
	}
	if s.useTables() {
		n.table = s.newTable()
	}
	return n
}

func (s *Store) newTable() *seenindex.Index { return seenindex.NewExact(&s.secret) }

// useTables reports whether packed keys are kept in tables.
func (s *Store) useTables() bool { return !s.useIndex || !s.filled || s.leaving || s.opt.Exact }

// trusted reports whether the index alone answers.
func (n *keySet) trusted() bool { return n.x != nil && n.s.filled && !n.s.opt.Exact }

// addSorted sets fresh[i] for each i of order, and learns the keys that are
// fresh; an error leaves the set as it was.
func (n *keySet) addSorted(keys []store.Key, order []uint32, fresh []bool) error {
	if n.trusted() {
		n.x.AddSorted(keys, order, fresh)
		if n.table != nil {
			for _, i := range order {
				if fresh[i] {
					n.table.Add(&keys[i])
				}
			}
		}
		return nil
	}
	known, err := n.find(keys, order)
	if err != nil {
		return err
	}
	rest := n.rest[:0]
	for _, i := range order {
		if fresh[i] = false; !known[i] {
			rest = append(rest, i)
		}
	}
	n.rest = rest
	n.table.AddSorted(keys, rest, fresh)
	if n.x != nil {
		for _, i := range rest {
			if fresh[i] {
				n.x.Add(&keys[i])
			}
		}
	}
	return nil
}

// offer is addSorted for keys of an import: the returned function learns those that are
// fresh, packed or not.
func (n *keySet) offer(keys []store.Key, order []uint32, fresh []bool) (learn func(packed bool), err error) {
	if n.trusted() {
		n.x.AddSorted(keys, order, fresh)
	} else {
		known, err := n.find(keys, order)
		if err != nil {
			return nil, err
		}
		for _, i := range order {
			fresh[i] = !known[i] && !n.table.Has(&keys[i])
		}
	}
	return func(packed bool) {
		for _, i := range order {
			switch {
			case !fresh[i]:
				continue
			case packed && n.table != nil:
				n.table.Add(&keys[i])
			}
			if n.x != nil && !n.trusted() {
				n.x.Add(&keys[i])
			}
		}
	}, nil
}

// has reports whether k is known.
func (n *keySet) has(k *store.Key) (bool, error) {
	if n.trusted() {
		return n.x.Has(k), nil
	}
	if n.table.Has(k) {
		return true, nil
	}
	known, err := n.find([]store.Key{*k}, first)
	if err != nil {
		return false, err
	}
	return known[0], nil
}

// remove forgets a key. With Options.Exact the fingerprint stays, as another key may
// share it.
func (n *keySet) remove(k *store.Key) {
	if n.x != nil && !n.s.opt.Exact {
		n.x.Remove(k)
	}
	for _, t := range n.tables() {
		t.Remove(k)
	}
}

// tables returns the tables there are.
func (n *keySet) tables() []*seenindex.Index {
	if n.table == nil {
		return n.flushing
	}
	return append(slices.Clip(n.flushing), n.table)
}

// bytes returns the memory of the set.
func (n *keySet) bytes() (b int64) {
	if n.x != nil {
		b += n.x.Bytes()
	}
	for _, t := range n.tables() {
		b += t.Bytes()
	}
	return b
}

// close releases the memory.
func (n *keySet) close() {
	if n.x != nil {
		n.x.Close()
	}
	for _, t := range n.tables() {
		t.Close()
	}
	n.x, n.table, n.flushing = nil, nil, nil
}

// find returns which keys are known, except for those in the table.
func (n *keySet) find(keys []store.Key, order []uint32) ([]bool, error) {
	if len(n.known) < len(keys) {
		n.known, n.hits = make([]bool, len(keys)), make([]bool, len(keys))
	}
	known := n.known[:len(keys)]
	clear(known)
	if n.x != nil && n.s.filled {
		hits := n.rest[:0]
		for _, i := range order {
			if n.x.Has(&keys[i]) {
				hits = append(hits, i)
			}
		}
		n.rest, order = hits, hits
	}
	for _, t := range n.flushing {
		for _, i := range order {
			known[i] = known[i] || t.Has(&keys[i])
		}
	}
	if err := n.findInRuns(keys, order, known); err != nil {
		return nil, damaged(err)
	}
	return known, nil
}

// findAlone is the number of keys below which two goroutines do not pay.
const findAlone = 256

func (n *keySet) findInRuns(keys []store.Key, order []uint32, known []bool) error {
	if len(order) < findAlone {
		return n.findPart(keys, order, known)
	}
	var eg errgroup.Group
	half := len(order) / 2
	eg.Go(func() error { return n.findPart(keys, order[:half], known) })
	err := n.findPart(keys, order[half:], known)
	return errors.Join(err, eg.Wait())
}

func (n *keySet) findPart(keys []store.Key, order []uint32, known []bool) error {
	for _, g := range slices.Backward(n.c.gens) {
		for _, r := range g.runs {
			if err := n.findInRun(g, r, keys, order, known); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *keySet) findInRun(g *generation, r *run, keys []store.Key, order []uint32, known []bool) error {
	if !g.hides() {
		return r.Find(keys, order, known)
	}
	hits := n.hits[:len(keys)]
	for _, i := range order {
		hits[i] = known[i]
	}
	if err := r.Find(keys, order, hits); err != nil {
		return err
	}
	for _, i := range order {
		if hits[i] && !known[i] {
			known[i] = !g.hidden(&keys[i])
		}
	}
	return nil
}

// recordedIn returns the generations by which those of the keys are known that are.
func (s *Store) recordedIn(c *crawl, keys []store.Key) (map[store.Key]*generation, error) {
	found, packed := map[store.Key]*generation{}, map[store.Key]bool{}
	for i := range keys {
		k := &keys[i]
		known, err := c.seen.has(k)
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		g, err := c.inRuns(k)
		if err != nil {
			return nil, err
		}
		if g != nil {
			found[*k] = g
		} else { // a key that is known and in no run is in a packed row
			packed[*k] = true
		}
	}
	c.inPacked(packed, found)
	return found, nil
}

// inRuns returns the generation that has k in a run, nil if none has.
func (c *crawl) inRuns(k *store.Key) (*generation, error) {
	for _, g := range slices.Backward(c.gens) {
		if g.hidden(k) {
			continue
		}
		for _, r := range g.runs {
			if has, err := r.Has(k); has || err != nil {
				return g, damaged(err)
			}
		}
	}
	return nil, nil
}

// inPacked finds the generations that have keys in packed rows. It goes through the rows of
// all but the latest: a key that is in none of the others is in the latest.
func (c *crawl) inPacked(keys map[store.Key]bool, found map[store.Key]*generation) {
	var latest *generation
	for _, g := range slices.Backward(c.gens) {
		switch {
		case len(keys) == 0:
			return
		case g.packed == 0:
		case latest == nil:
			latest = g
		default:
			for _, rows := range []*packedKeys{&g.rows, &g.frozen} {
				rows.each(keys, func(k store.Key) {
					if !g.hidden(&k) {
						found[k] = g
						delete(keys, k)
					}
				})
			}
		}
	}
	for k := range keys {
		if latest != nil && !latest.hidden(&k) {
			found[k] = latest
		}
	}
}

// packed notes that a key that is known went into a packed row.
func (n *keySet) packed(k *store.Key) {
	if n.table != nil {
		n.table.Add(k)
	}
	if n.x != nil { // while it is being filled, from parts that don't have the key any more
		n.x.Add(k)
	}
}
