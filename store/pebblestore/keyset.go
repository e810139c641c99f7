package pebblestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// keySet answers which keys of a crawl are known, and learns new ones. The
// committer alone uses it. Rows are written by the caller.
//
// Either the fingerprint index answers, or the tables of packed keys and the runs.
// While the index is filled after open, both learn, and tables and runs answer. With
// Options.Exact they verify what the index calls known.
type keySet struct {
	s *Store
	c *crawl
	// x is the fingerprint index, nil without.
	x *seenindex.Index
	// tables have the keys of packed rows whole. The last takes new keys; a flush makes runs of the keys
	// of the others. There are none where the index alone answers.
	tables []packedTable

	known []bool
	rest  []uint32
}

// packedTable is a set of packed keys.
type packedTable map[store.Key]struct{}

// tableBytes is about how much memory a packed key takes in a table.
const tableBytes = 40

// newKeySet returns an empty set for c.
func (s *Store) newKeySet(c *crawl) *keySet {
	n := &keySet{s: s, c: c}
	if s.index != noIndex {
		n.x = seenindex.New(&s.secret)
	}
	if s.index != answers || s.opt.Exact {
		n.tables = []packedTable{{}}
	}
	return n
}

// young returns the table that takes new keys, nil if there is none.
func (n *keySet) young() packedTable {
	if len(n.tables) == 0 {
		return nil
	}
	return n.tables[len(n.tables)-1]
}

// trusted reports whether the index alone answers.
func (n *keySet) trusted() bool { return n.s.index >= answers && !n.s.opt.Exact }

// find sets known[i] to whether keys[i] is known, for each i of order. It is fastest if that is the order of the keys. It
// returns the keys that it cannot look up, nil if there are none: those are not known.
func (n *keySet) find(keys []store.Key, order []uint32, known []bool) (*damagedKeys, error) {
	if n.trusted() {
		n.x.HasAll(keys, order, known)
		return nil, nil
	}
	return n.lookUp(keys, order, known, n.tables)
}

// has is find for one key. The error is runfile.ErrDamaged if it cannot be looked up.
func (n *keySet) has(k *store.Key) (bool, error) {
	var known [1]bool
	damaged, err := n.find(unsafe.Slice(k, 1), first, known[:])
	if damaged != nil {
		err = damaged.err
	}
	return known[0], err
}

// first is the order of one key.
var first = []uint32{0}

// add learns a key that goes into a packed row, and reports whether it is new since find did not know it.
func (n *keySet) add(k *store.Key) (fresh bool) {
	if young := n.young(); young != nil {
		before := len(young)
		young[*k] = struct{}{}
		fresh = len(young) > before
	}
	if n.x != nil {
		if isNew := n.x.Add(k); n.trusted() {
			fresh = isNew
		}
	}
	return fresh
}

// record is find and add at once: it sets fresh[i] to whether keys[i] was not known, and learns it.
func (n *keySet) record(keys []store.Key, order []uint32, fresh []bool) (*damagedKeys, error) {
	if n.trusted() && n.young() == nil {
		n.x.AddSorted(keys, order, fresh)
		return nil, nil
	}
	if n.trusted() {
		for _, i := range order {
			fresh[i] = n.add(&keys[i])
		}
		return nil, nil
	}
	if len(n.known) < len(keys) {
		n.known = make([]bool, len(keys))
	}
	damaged, err := n.lookUp(keys, order, n.known, n.tables[:len(n.tables)-1]) // add asks the last
	if err != nil {
		return nil, err
	}
	if damaged != nil {
		for _, i := range damaged.at {
			n.known[i] = true // as far as it must not be added
		}
	}
	for _, i := range order {
		fresh[i] = !n.known[i] && n.add(&keys[i])
	}
	return damaged, nil
}

// remove forgets a key. With Options.Exact the fingerprint stays, as another key may
// share it.
func (n *keySet) remove(k *store.Key) {
	if n.x != nil && !n.s.opt.Exact {
		n.x.Remove(k)
	}
	for _, t := range n.tables {
		delete(t, *k)
	}
}

func (n *keySet) bytes() (b int64) {
	if n.x != nil {
		b = n.x.Bytes()
	}
	for _, t := range n.tables {
		b += tableBytes * int64(len(t))
	}
	return b
}

func (n *keySet) close() {
	if n.x != nil {
		n.x.Close()
	}
	n.x, n.tables = nil, nil
}

// lookUp sets known[i] to whether keys[i] is in some tables or the runs, for each i of order.
func (n *keySet) lookUp(keys []store.Key, order []uint32, known []bool, tables []packedTable) (*damagedKeys, error) {
	for _, i := range order {
		known[i] = false
	}
	if n.s.index >= answers {
		hits := n.rest[:0]
		for _, i := range order {
			if n.x.Has(&keys[i]) {
				hits = append(hits, i)
			}
		}
		n.rest, order = hits, hits
	}
	for _, t := range tables {
		for _, i := range order {
			_, has := t[keys[i]]
			known[i] = known[i] || has
		}
	}
	return n.findInRuns(keys, order, known)
}

// findAlone is the number of keys below which two goroutines do not pay, nor the question whether the disk was read.
const findAlone = 256

func (n *keySet) findInRuns(keys []store.Key, order []uint32, known []bool) (*damagedKeys, error) {
	var low, high damagedKeys
	if len(order) < findAlone {
		err := n.findPart(keys, order, known, &low)
		return low.unless(known), err
	}
	var err error
	n.s.cold.watch(len(order), func() {
		var eg errgroup.Group
		half := len(order) / 2
		eg.Go(func() error { return n.findPart(keys, order[:half], known, &low) })
		err = cmp.Or(n.findPart(keys, order[half:], known, &high), eg.Wait())
	})
	low.at, low.err = append(low.at, high.at...), cmp.Or(low.err, high.err)
	return low.unless(known), err
}

func (n *keySet) findPart(keys []store.Key, order []uint32, known []bool, damaged *damagedKeys) error {
	for _, g := range slices.Backward(n.c.gens) {
		if err := g.find(keys, order, known, damaged); err != nil {
			return err
		}
	}
	return nil
}

// damagedKeys are keys that could not be looked up, and the first reason.
type damagedKeys struct {
	at  []uint32
	err error
}

// unless returns d without the keys that are known after all, nil if that leaves none.
func (d *damagedKeys) unless(known []bool) *damagedKeys {
	d.at = slices.DeleteFunc(d.at, func(i uint32) bool { return known[i] })
	if slices.Sort(d.at); len(d.at) == 0 {
		return nil
	}
	d.at = slices.Compact(d.at)
	return d
}

// find sets known[i] for each i of order if keys[i] is in a run of g and not forgotten.
func (g *generation) find(keys []store.Key, order []uint32, known []bool, damaged *damagedKeys) error {
	if g.hides() {
		order = slices.DeleteFunc(slices.Clone(order), func(i uint32) bool { return g.hidden(&keys[i]) })
	}
	for _, r := range g.runs {
		err := r.Find(keys, order, known)
		if err == nil {
			continue
		}
		if !errors.Is(err, runfile.ErrDamaged) {
			return err
		}
		g.c.seen.s.damage.note(r.File.Path(), err)
		for j, i := range order { // those that can be found are
			if !known[i] && r.Find(keys, order[j:j+1], known) != nil {
				damaged.at, damaged.err = append(damaged.at, i), cmp.Or(damaged.err, err)
			}
		}
	}
	return nil
}

// recordedIn returns the generations by which those of the keys are known that are.
func (s *Store) recordedIn(c *crawl, keys []store.Key) (map[store.Key]*generation, error) {
	found := map[store.Key]*generation{}
	rest, has := indexes(len(keys)), make([]bool, len(keys))
	damaged, err := c.seen.find(keys, rest, has)
	if err == nil && damaged != nil {
		err = damaged.err
	}
	if err != nil {
		return nil, err
	}
	rest = slices.DeleteFunc(rest, func(i uint32) bool { return !has[i] })
	for n, g := range slices.Backward(c.gens) {
		clear(has)
		if n > 0 && len(rest) > 0 { // the first has all that are left
			var damaged damagedKeys
			if err := cmp.Or(g.find(keys, rest, has, &damaged), damaged.err); err != nil {
				return nil, err
			}
			g.findPacked(keys, rest, has)
		}
		rest = slices.DeleteFunc(rest, func(i uint32) bool {
			in := has[i] || n == 0
			if in && found[keys[i]] == nil {
				found[keys[i]] = g
			}
			return in
		})
	}
	return found, nil
}

// findPacked is find for packed rows. It looks at all of their keys: half a million take about a
// millisecond, as few have the first bytes of a key.
func (g *generation) findPacked(keys []store.Key, order []uint32, known []bool) {
	var begins [1 << 16]bool
	at := make(map[store.Key]uint32, len(order))
	for _, i := range order {
		if k := &keys[i]; !g.hidden(k) {
			begins[binary.BigEndian.Uint16(k[:])], at[*k] = true, i
		}
	}
	for _, c := range slices.Concat(g.frozen.chunks, g.rows.chunks) {
		for ; len(c) > 0; c = c[keyLen:] {
			if begins[binary.BigEndian.Uint16(c)] {
				if i, ok := at[store.Key(c)]; ok {
					known[i] = true
				}
			}
		}
	}
}
