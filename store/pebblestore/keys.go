package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/osfile"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// One of two places answers which keys are known, for all keys of the store:
//
//   - the fingerprint index (package seenindex): 9.4 to 13.3 bytes of memory a key in a large store, an answer in 30 ns, wrong once in 1e18;
//   - the tables of packed keys in memory, and the run files (runs.go): exact, and mapped, so that the page cache decides how fast.
//
// The obvious way, asking Pebble, costs 4 µs a key and a bloom filter of 10 bits; keeping all keys in memory costs 40 bytes a key. The
// index is not on disk: Open fills it from runs and packed rows, which answer until then.
//
//	noIndex ──▶ (no way back)
//	filling ──▶ answers ──▶ outgrown ──▶ noIndex
//	   └────────────────────────────────────┘      an index beyond its budget, or that meets damage
//
// The committer owns it all, holding Store.mu for writing; Store.Index reads with Store.mu. A look-up before the commit
// (warm) reads runs alone, which do not change.

// indexPhase is what the fingerprint index is used for.
type indexPhase int

const (
	noIndex  indexPhase = iota // the tables of packed keys and the runs answer
	filling                    // they do, until the index has all keys
	answers                    // the index answers
	outgrown                   // it does, until a flush that begins in this phase has ended
)

// IndexInfo is what Store.Index reports.
type IndexInfo struct {
	// Fingerprints reports whether a fingerprint index answers, or is being filled to
	// do so; otherwise the key runs answer.
	Fingerprints bool
	// Filling reports whether the index is being filled after open. Until then
	// the key runs answer.
	Filling bool
	Keys    int64
	Bytes   int64 // of memory
	// Mapped is the size of the run files, which the page cache has in memory as
	// far as there is room.
	Mapped int64
	// Err is the first damage to a run file found since Open, with or without an index. Only keys
	// in the damaged part are refused. If it keeps the index from being filled, the runs answer.
	Err error
	// WronglyDropped is the expected number of URLs wrongly called duplicates
	// while the present keys were added in turn.
	WronglyDropped float64
}

// Mode returns which one answers: "index" or "runs".
func (i IndexInfo) Mode() string {
	switch {
	case i == IndexInfo{}:
		return ""
	case i.Fingerprints && !i.Filling:
		return "index"
	}
	return "runs"
}

// Index reports how keys are looked up. Of a store that failed or was closed it
// returns the zero IndexInfo.
func (s *Store) Index() IndexInfo {
	if s.rlock() != nil {
		return IndexInfo{}
	}
	defer s.mu.RUnlock()
	info := IndexInfo{Fingerprints: s.index != noIndex, Filling: s.index == filling, Keys: s.keys(), Bytes: s.setBytes(), Err: s.damage.first()}
	counted := map[*runfile.File]bool{}
	for g := range s.generations() {
		for _, r := range g.runs {
			if !counted[r.File] {
				counted[r.File] = true
				info.Mapped += r.File.Bytes()
			}
		}
	}
	if s.index != noIndex && !s.opt.Exact {
		for _, c := range s.crawls {
			info.WronglyDropped += seenindex.Odds(float64(c.count()))
		}
	}
	return info
}

// keys is the number of keys of all crawls.
func (s *Store) keys() (n int64) {
	for _, c := range s.crawls {
		n += c.count()
	}
	return n
}

// setBytes returns the memory of all sets. The caller holds mu, or is the committer.
func (s *Store) setBytes() (n int64) {
	for _, c := range s.crawls {
		n += c.seen.bytes()
	}
	return n
}

// The index has one bound, Options.IndexBytes: it is used while its memory is within that. At Open its memory is not yet
// known, so it is filled if the least it can take is within the bound. (Before, Open wanted room for a quarter more than the most:
// a restart dropped an index within its budget.)

// fits reports whether an index of n keys may be within its budget.
func (o *Options) fits(n int64) bool {
	switch {
	case o.Mode == OpenReadOnly || o.IndexBytes < 0:
		return false
	case o.IndexBytes == 0:
		return true
	}
	return float64(o.IndexBytes) >= float64(n)*seenindex.LeastPerKey
}

// budgetGroups is how many groups are between two looks at the memory of the index.
const budgetGroups = 64

// keepBudget abandons an index that has outgrown its budget: immediately while it is being filled; if it answers, after a
// flush, when the tables and runs have all keys.
func (s *Store) keepBudget() {
	if s.opt.IndexBytes == 0 || s.groups.Load()%budgetGroups != 0 || s.setBytes() <= s.opt.IndexBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.index {
	case filling:
		s.leave()
	case answers:
		s.index = outgrown
		s.pokeKeeper()
	}
}

// leave has the tables and runs answer. The memory of the indexes is freed in the
// background.
func (s *Store) leave() {
	if s.index == noIndex {
		return
	}
	var old []*seenindex.Index
	for _, c := range s.crawls {
		old = append(old, c.seen.x)
		c.seen.x = nil
	}
	s.index = noIndex
	go func() {
		for _, x := range old {
			x.Close()
		}
	}()
}

// keySet answers which keys of a crawl are known, and learns new ones. Rows are written by the caller.
//
// While the index is filled after open, it and the tables learn, and tables and runs answer. With
// Options.Exact they verify what the index calls known.
type keySet struct {
	s *Store
	c *crawl
	// x is the fingerprint index, nil without.
	x *seenindex.Index
	// tables have the whole keys of packed rows. The last takes new keys; a flush makes runs of the keys
	// of the others. There are none if the index alone answers.
	tables []packedTable

	known []bool   // scratch space of record
	rest  []uint32 // scratch space of lookUp
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

// alone reports whether the index alone learns new keys.
func (n *keySet) alone() bool { return n.trusted() && n.young() == nil }

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
	damaged, err := n.find(unsafe.Slice(k, 1), oneKey, known[:])
	if damaged != nil {
		err = damaged.err
	}
	return known[0], err
}

// oneKey is the order of one key.
var oneKey = []uint32{0}

// add learns a key that goes into a packed row, and reports whether it is new since find did not know it.
func (n *keySet) add(k *store.Key) (fresh bool) {
	fresh = n.x != nil && n.x.Add(k)
	young := n.young()
	if young == nil || n.trusted() && !fresh { // a known key has a place already
		return fresh && n.trusted()
	}
	before := len(young)
	young[*k] = struct{}{}
	return n.trusted() || len(young) > before
}

// record is find and add at once: it sets fresh[i] to whether keys[i] was not known, and learns it.
func (n *keySet) record(keys []store.Key, order []uint32, fresh []bool) (*damagedKeys, error) {
	if n.alone() {
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

// recorded is a known key, and the generation that it is in.
type recorded struct {
	key store.Key
	g   *generation
}

// recordedIn returns those of the keys that are known, each once, in order: Pebble takes in rows in order of key in half the time.
func (s *Store) recordedIn(c *crawl, keys []store.Key) ([]recorded, error) {
	keys = runfile.Sort(slices.Clone(keys))
	found := make([]recorded, len(keys))
	rest, has := indexes(len(keys)), make([]bool, len(keys))
	damaged, err := c.seen.find(keys, rest, has)
	if err == nil && damaged != nil {
		err = damaged.err
	}
	if err != nil {
		return nil, err
	}
	rest = slices.DeleteFunc(rest, func(i uint32) bool { return !has[i] })
	var lost damagedKeys // in a generation; another may have them
	for n, g := range slices.Backward(c.gens) {
		clear(has)
		if (n > 0 || len(lost.at) > 0) && len(rest) > 0 { // the first has all that are left, unless damage hides some
			if err := g.find(keys, rest, has, &lost); err != nil {
				return nil, err
			}
			g.findPacked(keys, rest, has)
		}
		if lost.unless(has); n == 0 && len(lost.at) > 0 {
			return nil, lost.err
		}
		rest = slices.DeleteFunc(rest, func(i uint32) bool {
			in := has[i] || n == 0
			if in {
				found[i] = recorded{keys[i], g}
			}
			return in
		})
	}
	return slices.DeleteFunc(found, func(r recorded) bool { return r.g == nil }), nil
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

// learnPacked adds the packed keys of g to the table.
func (n *keySet) learnPacked(g *generation) {
	young := n.young()
	for _, c := range g.rows.chunks {
		for ; len(c) > 0; c = c[keyLen:] {
			if k := store.Key(c); !g.hidden(&k) {
				young[k] = struct{}{}
			}
		}
	}
}

// # Filling the index after Open

// fillSteps is how many steps fill the index at once, each with the keys of a portion of a run, about
// a quarter of a millisecond. With fewer, filling would take minutes while callers keep the committer busy.
const fillSteps = 32

// startFill begins to fill the index from the runs and packed rows that open found.
func (s *Store) startFill() {
	if s.index != filling {
		return
	}
	if s.keys() == 0 {
		s.endFill()
		return
	}
	held := s.holdRuns()
	var parts []*keyPart
	for g := range s.generations() {
		parts = append(parts, held.parts(g)...)
	}
	// The largest runs come first, as each makes room for all keys of its segments.
	slices.SortFunc(parts, func(a, b *keyPart) int { return cmp.Compare(b.len(), a.len()) })
	s.behind.Go(func() {
		err := s.fill(parts)
		held.release()
		// Only the end of the store fails this step, and that is reported to its callers.
		_ = s.do(context.Background(), 1, func(*txn) error {
			if err == nil {
				s.endFill()
				return nil
			}
			// The runs continue to answer, but for keys in the damaged part.
			s.damage.note("", fmt.Errorf("cannot fill the index of store %s: %w", s.dir, err))
			s.leave()
			return nil
		})
	})
}

// startPause is how long what Open left to do waits. The first steps of callers come one after the other: they make a frontier, and then
// lease. If each waits for a group that fills the index and loads queues, the first lease comes 100 ms later.
const startPause = 100 * time.Millisecond

// awaitStart waits for that, and no longer once it is needed, or for the test that holds up what Open left to do.
func (s *Store) awaitStart(needed <-chan struct{}) {
	hold := s.opt.holdFill
	if hold == nil {
		over := make(chan struct{})
		defer time.AfterFunc(startPause, func() { close(over) }).Stop()
		hold = over
	} else {
		needed = nil
	}
	select {
	case <-hold:
	case <-needed:
	case <-s.closing:
	}
}

// fill adds the keys of parts to the index, a step after the other.
func (s *Store) fill(parts []*keyPart) error {
	s.awaitStart(nil)
	eg, ctx := errgroup.WithContext(context.Background())
	eg.SetLimit(fillSteps)
	for _, p := range parts {
		for from := p.keys(); ctx.Err() == nil; {
			keys, err := from()
			if err != nil {
				return errors.Join(err, eg.Wait())
			}
			if len(keys) == 0 {
				break
			}
			keys = slices.Clone(keys)
			eg.Go(func() error {
				return s.do(ctx, 1, func(*txn) error {
					if c := p.g.c; !p.g.gone && c.seen.x != nil {
						c.seen.fill(p.g.visible(keys), c.count())
					}
					return nil
				})
			})
		}
	}
	return eg.Wait()
}

// fill adds ascending keys to the index, which is to have room for so many keys in all.
func (n *keySet) fill(keys []store.Key, room int64) {
	if len(keys) > 0 {
		n.x.Reserve(room, &keys[0], &keys[len(keys)-1])
		n.x.AddSorted(keys, indexes(len(keys)), make([]bool, len(keys)))
	}
}

func (s *Store) endFill() {
	if s.index != filling { // it outgrew its budget
		return
	}
	s.index = answers
	if s.opt.Exact {
		return
	}
	for _, c := range s.crawls {
		c.seen.tables = nil
	}
}

// # A batch is looked up in the order of its keys

// sorter orders the keys of a batch as the index and Pebble have them.
type sorter struct {
	order, spare []uint32
	see          seeOp // the step it is used for
}

// indexes returns the numbers from 0 to n-1.
func indexes(n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

var sorters = sync.Pool{New: func() any { return new(sorter) }}

// sort returns the indexes of keys in order of the keys' first two bytes,
// equal ones in order of index: nearly sorted is all that the index and
// Pebble's write buffer need, and equal keys keep their order.
func (s *sorter) sort(keys []store.Key) []uint32 {
	n := len(keys)
	if cap(s.order) < n {
		s.order, s.spare = make([]uint32, n), make([]uint32, n)
	}
	a, b := s.order[:n], s.spare[:n]
	if n < smallSort {
		for i := range a {
			a[i] = uint32(i)
		}
		slices.SortStableFunc(a, func(i, j uint32) int { return bytes.Compare(keys[i][:2], keys[j][:2]) })
		return a
	}
	var low, high [256]uint32
	for i := range keys {
		low[keys[i][1]]++
		high[keys[i][0]]++
	}
	starts(&low)
	starts(&high)
	for i := range keys {
		at := &low[keys[i][1]]
		b[*at] = uint32(i)
		*at++
	}
	for _, i := range b {
		at := &high[keys[i][0]]
		a[*at] = i
		*at++
	}
	return a
}

// starts turns counts into the places where each begins.
func starts(counts *[256]uint32) {
	var sum uint32
	for i, n := range counts {
		counts[i] = sum
		sum += n
	}
}

// smallSort is the number of keys below which counting costs more than it saves.
const smallSort = 64

// # Runs that the page cache may lack are read before the commit

// warmAfter is how many keys callers look for without a read of the disk before the runs count as cached.
const warmAfter = 1 << 16

// cold tracks whether look-ups in runs may have to wait for the disk, since the page cache lacks them, as after a
// reboot. It is the number of keys that are still looked up as if they had to.
type cold struct{ left atomic.Int64 }

// watch calls find, which looks for n keys, and notes whether the process read the disk in the meantime.
func (c *cold) watch(n int, find func()) {
	before := osfile.DiskReads()
	find()
	if osfile.DiskReads() > before {
		c.left.Store(warmAfter)
	} else if c.left.Load() > 0 {
		c.left.Add(-int64(n))
	}
}

// warm reads the pages that the runs need to find keys, while the page cache may lack them. So the committer, which looks the
// keys up afterwards, does not hold up other callers while it waits for the disk.
func (s *Store) warm(ctx context.Context, crawl string, keys []store.Key, order []uint32) error {
	if s.cold.left.Load() <= 0 {
		return nil
	}
	var runs []*run
	err := s.read(ctx, func(*txn) error {
		if c := s.crawls[crawl]; c != nil && !c.seen.trusted() {
			for _, g := range c.gens {
				for _, r := range g.runs {
					r.File.Use()
					runs = append(runs, r)
				}
			}
		}
		return nil
	})
	if err != nil && s.isStuck() {
		return err
	}
	known := make([]bool, len(keys))
	s.cold.watch(len(keys), func() {
		for _, r := range runs {
			if err == nil {
				_ = r.FindCold(keys, order, known) // the committer reports errors
			}
			r.File.Release()
		}
	})
	return err
}
