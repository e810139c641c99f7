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

// addSorted sets fresh[i] for each i of order, and learns the keys that are
// fresh; an error leaves the set as it was.
func (n *keySet) addSorted(keys []store.Key, order []uint32, fresh []bool) error {
	young := n.young()
	if n.trusted() {
		n.x.AddSorted(keys, order, fresh)
		if young != nil {
			for _, i := range order {
				if fresh[i] {
					young[keys[i]] = struct{}{}
				}
			}
		}
		return nil
	}
	if len(n.known) < len(keys) {
		n.known = make([]bool, len(keys))
	}
	if err := n.find(keys, order, n.known, n.tables[:len(n.tables)-1]); err != nil {
		return err
	}
	for _, i := range order {
		before := len(young)
		if !n.known[i] {
			young[keys[i]] = struct{}{}
		}
		if fresh[i] = len(young) > before; fresh[i] && n.x != nil {
			n.x.Add(&keys[i])
		}
	}
	return nil
}

// hasSorted sets has[i] to whether keys[i] is known, for each i of order.
func (n *keySet) hasSorted(keys []store.Key, order []uint32, has []bool) error {
	if n.trusted() {
		for _, i := range order {
			has[i] = n.x.Has(&keys[i])
		}
		return nil
	}
	return n.find(keys, order, has, n.tables)
}

func (n *keySet) has(k *store.Key) (bool, error) {
	var has [1]bool
	err := n.hasSorted(unsafe.Slice(k, 1), first, has[:])
	return has[0], err
}

// first is the order of one key.
var first = []uint32{0}

// packed notes that a key that is known went into a packed row.
func (n *keySet) packed(k *store.Key) {
	if n.x != nil {
		n.x.Add(k)
	}
	if young := n.young(); young != nil {
		young[*k] = struct{}{}
	}
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

// find sets known[i] to whether keys[i] is known by some tables and the runs, for each i of order. If runs are
// damaged, the error is damagedKeys with the keys that it could not look up.
func (n *keySet) find(keys []store.Key, order []uint32, known []bool, tables []packedTable) error {
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

func (n *keySet) findInRuns(keys []store.Key, order []uint32, known []bool) (err error) {
	if len(order) < findAlone {
		return n.findPart(keys, order, known)
	}
	n.s.cold.watch(len(order), func() {
		var eg errgroup.Group
		half := len(order) / 2
		eg.Go(func() error { return n.findPart(keys, order[:half], known) })
		var damaged damagedKeys
		err = damaged.add(n.findPart(keys, order[half:], known))
		if err = cmp.Or(err, damaged.add(eg.Wait())); err == nil {
			err = damaged.error(known)
		}
	})
	return err
}

func (n *keySet) findPart(keys []store.Key, order []uint32, known []bool) error {
	var damaged damagedKeys
	for _, g := range slices.Backward(n.c.gens) {
		if err := damaged.add(g.find(keys, order, known)); err != nil {
			return err
		}
	}
	return damaged.error(known)
}

// damagedKeys are keys that could not be looked up, and why.
type damagedKeys struct {
	at  []uint32
	err error
}

// Error returns the first reason.
func (d *damagedKeys) Error() string { return d.err.Error() }

func (d *damagedKeys) Unwrap() error { return d.err }

// add takes the keys of an error that names some. It returns any other error.
func (d *damagedKeys) add(err error) error {
	var more *damagedKeys
	if !errors.As(err, &more) {
		return err
	}
	d.at, d.err = append(d.at, more.at...), cmp.Or(d.err, more.err)
	return nil
}

// error returns d, without the keys that are known by now, or nil if that leaves none.
func (d *damagedKeys) error(known []bool) error {
	d.at = slices.DeleteFunc(d.at, func(i uint32) bool { return known[i] })
	if slices.Sort(d.at); len(d.at) == 0 {
		return nil
	}
	d.at = slices.Compact(d.at)
	return d
}

// without returns an order without the keys of d.
func (d *damagedKeys) without(order []uint32) []uint32 {
	return slices.DeleteFunc(slices.Clone(order), func(i uint32) bool {
		_, damaged := slices.BinarySearch(d.at, i)
		return damaged
	})
}

// addReadable is addSorted for the keys that can be looked up. It returns the others, nil if there are none.
func (n *keySet) addReadable(keys []store.Key, order []uint32, fresh []bool) (damaged *damagedKeys, err error) {
	if err = n.addSorted(keys, order, fresh); !errors.As(err, &damaged) {
		return nil, err
	}
	for _, i := range damaged.at {
		fresh[i] = false
	}
	return damaged, n.addSorted(keys, damaged.without(order), fresh)
}

// hasReadable is hasSorted for the keys that can be looked up; of the others it returns false.
func (n *keySet) hasReadable(keys []store.Key, order []uint32, has []bool) (damaged *damagedKeys, err error) {
	if err = n.hasSorted(keys, order, has); !errors.As(err, &damaged) {
		return nil, err
	}
	return damaged, nil
}

// find sets known[i] for each i of order if keys[i] is in a run of g and not forgotten.
func (g *generation) find(keys []store.Key, order []uint32, known []bool) error {
	if g.hides() {
		order = slices.DeleteFunc(slices.Clone(order), func(i uint32) bool { return g.hidden(&keys[i]) })
	}
	var damaged damagedKeys
	for _, r := range g.runs {
		err := r.Find(keys, order, known)
		if err == nil {
			continue
		}
		if !errors.Is(err, runfile.ErrDamaged) {
			return err
		}
		g.c.seen.s.damage.note(r.File.Path(), err)
		for j, i := range order {
			if !known[i] && r.Find(keys, order[j:j+1], known) != nil {
				damaged.at, damaged.err = append(damaged.at, i), err
			}
		}
	}
	return damaged.error(known)
}

// recordedIn returns the generations by which those of the keys are known that are.
func (s *Store) recordedIn(c *crawl, keys []store.Key) (map[store.Key]*generation, error) {
	found := map[store.Key]*generation{}
	rest, has := identity(len(keys)), make([]bool, len(keys))
	if err := c.seen.hasSorted(keys, rest, has); err != nil {
		return nil, err
	}
	rest = slices.DeleteFunc(rest, func(i uint32) bool { return !has[i] })
	for n, g := range slices.Backward(c.gens) {
		clear(has)
		if n > 0 && len(rest) > 0 { // the first has all that are left
			if err := g.find(keys, rest, has); err != nil {
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
