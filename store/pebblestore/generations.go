package pebblestore

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A crawl knows the keys of its generations. Keys have no times of their own, which would cost 8 bytes a key and a rewrite to
// forget them: keys recorded within a span of time are forgotten by age together. So a generation is the unit of
// forgetting, and its number leads the keys of its rows.
//
// New keys go into the crawl's last generation. A group writes those of a generation as one packed row, whose keys stay in memory
// until a flush makes a run of them. (One row a key cost 17 bytes in tables, and each was compacted five times.) A key that is
// forgotten by name gets a tombstone; "purging" are the tombstones whose keys the running merge leaves out.
//
// All of it is guarded by Store.mu and written by the committer.

// crawl is the state of one crawl in memory. The committer alone writes it,
// holding Store.mu; readers hold it for reading.
type crawl struct {
	num  uint32 // never used again, so that rows of a forgotten crawl can't come back
	name string
	// gens are its generations, oldest first; the last takes new keys.
	gens []*generation
	seen *keySet
	// queues is the queue side's state of the crawl.
	queues crawlQueues
	gone   bool // it was forgotten
}

// generation is the keys first recorded in one span of time. Its number
// leads the keys of its rows, so it can be dropped with range deletions.
type generation struct {
	c       *crawl
	num     uint32
	created time.Time
	last    time.Time // when a key was last recorded
	keys    int64
	low     *store.Key // keys up to it are forgotten, while the generation is; nil: none
	dirty   bool       // its row is to be written with the group
	gone    bool       // it was dropped

	runs    []*run
	frozen  packedKeys             // of packed rows, of which a flush makes a run
	rows    packedKeys             // packed since
	pending []byte                 // keys that are packed with the group
	dead    map[store.Key]struct{} // with a tombstone
	// purging are those that the next merge of all runs leaves out; nothing writes
	// to the map, and revived those of them that were recorded again since.
	purging, revived map[store.Key]struct{}
}

// count returns how many keys the crawl has seen.
func (c *crawl) count() int64 {
	var n int64
	for _, g := range c.gens {
		n += g.keys
	}
	return n
}

// selected returns the crawls meant by a caller's name, of all crawls those from one on in order of
// name. The slice is good until a crawl comes or goes.
func (s *Store) selected(name, first string) []*crawl {
	if name == sched.AnyCrawl {
		i, _ := s.placeOf(first)
		return s.byName[i:]
	}
	if c := s.crawls[cmp.Or(name, store.DefaultCrawl)]; c != nil {
		return []*crawl{c}
	}
	return nil
}

// placeOf returns where a name is, or would be, among the crawls.
func (s *Store) placeOf(name string) (int, bool) {
	return slices.BinarySearchFunc(s.byName, name, func(c *crawl, name string) int { return cmp.Compare(c.name, name) })
}

func (s *Store) addCrawl(c *crawl) {
	c.queues = crawlQueues{Crawl: s.sched.NewCrawl(c.name), next: 1, seed: maphash.MakeSeed()}
	c.queues.Owner = c
	s.crawls[c.name], s.byNum[c.num] = c, c
	i, _ := s.placeOf(c.name)
	s.byName = slices.Insert(s.byName, i, c)
}

// pruneCrawls takes the crawls that are forgotten out of the lists.
func (s *Store) pruneCrawls() {
	if len(s.byName) > len(s.crawls) {
		s.byName = slices.DeleteFunc(s.byName, func(c *crawl) bool { return c.gone })
		s.sched.DropEmpty()
	}
}

// crawl returns the crawl of that name, or nil when there is none and none is
// to be made.
func (tx *txn) crawl(name string, make bool) *crawl {
	s := tx.s
	c := s.crawls[name]
	if c != nil || !make {
		return c
	}
	c = &crawl{num: s.nextCrawl, name: name}
	c.seen = s.newKeySet(c)
	s.nextCrawl++
	s.addCrawl(c)
	tx.set(appendNumbered(nil, tableCrawl, c.num), []byte(name))
	tx.generation(c)
	return c
}

// generation returns the generation that takes new keys of c, which is a new
// one when there is none or the last is old.
func (tx *txn) generation(c *crawl) *generation {
	if n := len(c.gens); n > 0 {
		g := c.gens[n-1]
		if g.keys == 0 || tx.current(g) {
			return g
		}
	}
	return tx.addGeneration(c)
}

func (tx *txn) addGeneration(c *crawl) *generation {
	g := &generation{c: c, num: tx.s.nextGen, created: tx.stamp, last: tx.stamp}
	tx.s.nextGen++
	c.gens = append(c.gens, g)
	tx.touch(g)
	tx.set(metaKey(metaNext), appendNext(nil, tx.s.nextCrawl, tx.s.nextGen))
	return g
}

// current reports whether g is young enough to take new keys. It is not if the clock was
// ahead when g was begun, or it would take them until the clock has got there.
func (tx *txn) current(g *generation) bool {
	own := min(g.c.queues.Settings.Retention/8, 30*24*time.Hour)
	age, span := tx.stamp.Sub(g.created), cmp.Or(tx.s.opt.generation, own, tx.s.retained, 30*24*time.Hour)
	return span < 0 || age >= 0 && age < span
}

// recorded notes that g got n keys now. A key that is recorded while the clock is behind
// must not make it look old.
func (tx *txn) recorded(g *generation, n int64) {
	g.keys += n
	if tx.stamp.After(g.last) {
		g.last = tx.stamp
	}
	tx.touch(g)
}

// touch has the row of g written with the group.
func (tx *txn) touch(g *generation) {
	if !g.dirty {
		g.dirty = true
		tx.dirty = append(tx.dirty, g)
	}
}

// writeGenerations adds the rows of the generations whose counts changed.
func (tx *txn) writeGenerations() {
	for _, g := range tx.dirty {
		if g.dirty {
			g.dirty = false
			tx.set(appendNumbered(nil, tableGen, g.num), appendGeneration(nil, g.c.num, g))
		}
	}
}

// unicodeHosts notes that keys of internationalised hosts are in the store.
func (tx *txn) unicodeHosts() {
	if !tx.s.unicodeHosts {
		tx.s.unicodeHosts = true
		tx.set(metaKey(metaFlags), []byte{flagUnicodeHosts})
	}
}

// recordSorted records keys as seen in c, and sets fresh[i] to whether keys[i] was new, for each i of order.
// It returns the keys that cannot be looked up, nil if there are none.
func (tx *txn) recordSorted(c *crawl, keys []store.Key, order []uint32, fresh []bool) (*damagedKeys, error) {
	damaged, err := c.seen.record(keys, order, fresh)
	if err == nil {
		tx.packFresh(c, keys, order, fresh)
	}
	return damaged, err
}

// packFresh writes the keys that are fresh.
func (tx *txn) packFresh(c *crawl, keys []store.Key, order []uint32, fresh []bool) {
	var g *generation
	var n int64
	for _, i := range order {
		if !fresh[i] {
			continue
		}
		if g == nil {
			g = tx.generation(c)
		}
		n++
		if !tx.revive(g, &keys[i]) {
			tx.pack(g, &keys[i])
		}
	}
	if n > 0 {
		tx.recorded(g, n)
	}
}

// The new keys of a group are one packed row for each generation. Packed rows become
// runs: see keeper.

// packedKeys are the keys of packed rows, which stay in memory until they are in runs.
type packedKeys struct {
	n      int64
	chunks [][]byte // their bytes do not change, so that others can read them
	nums   []uint64 // of the rows, the first few of them
	last   uint64   // the number of the last row
}

// packed returns how many keys of g are in packed rows.
func (g *generation) packed() int64 { return g.frozen.n + g.rows.n }

// chunkLen is the length up to which rows share a chunk.
const chunkLen = 1 << 18

// fewRows is up to how many rows are deleted one by one.
const fewRows = 16

// add adds a row.
func (p *packedKeys) add(num uint64, keys []byte) {
	p.n += int64(len(keys) / keyLen)
	p.last = num
	if len(p.nums) <= fewRows {
		p.nums = append(p.nums, num)
	}
	if n := len(p.chunks); n > 0 && len(p.chunks[n-1])+len(keys) <= chunkLen {
		p.chunks[n-1] = append(p.chunks[n-1], keys...)
		return
	}
	p.chunks = append(p.chunks, slices.Clone(keys))
}

// move adds the rows of another, which is empty then.
func (p *packedKeys) move(from *packedKeys) {
	p.n += from.n
	p.chunks = append(p.chunks, from.chunks...)
	p.nums = append(p.nums, from.nums...)
	p.last = max(p.last, from.last)
	*from = packedKeys{}
}

// sorted returns the keys in order.
func (p *packedKeys) sorted() []store.Key {
	keys := make([]store.Key, 0, p.n)
	for _, c := range p.chunks {
		for ; len(c) > 0; c = c[keyLen:] {
			keys = append(keys, store.Key(c))
		}
	}
	return runfile.Sort(keys)
}

// pack has k written with the group, as a key of g.
func (tx *txn) pack(g *generation, k *store.Key) {
	if len(g.pending) == 0 {
		tx.packs = append(tx.packs, g)
		if g.pending == nil {
			g.pending = tx.s.packSpace[:0]
			tx.s.packSpace = nil
		}
	}
	g.pending = append(g.pending, k[:]...)
}

// writePacked writes the packed rows of what the batch has.
func (tx *txn) writePacked() {
	s := tx.s
	for _, g := range tx.packs {
		if n := int64(len(g.pending) / keyLen); n > 0 {
			tx.key = appendPackedRow(tx.key[:0], g.num, s.nextPacked)
			tx.set(tx.key, g.pending)
			g.rows.add(s.nextPacked, g.pending)
			s.packed += n
			s.packSpace, g.pending = g.pending[:0], nil
		}
	}
	if len(tx.packs) > 0 {
		s.nextPacked++
		tx.packs = tx.packs[:0]
	}
	if s.packed >= s.opt.flushKeys {
		s.pokeKeeper()
	}
}

// deletePacked deletes the frozen rows of g.
func (tx *txn) deletePacked(g *generation) {
	tx.s.packed -= g.frozen.n
	if len(g.frozen.nums) > fewRows {
		tx.deleteRange(appendPackedRow(nil, g.num, 0), append(appendPackedRow(nil, g.num, g.frozen.last), 0))
	} else {
		for _, num := range g.frozen.nums {
			tx.singleDelete(appendPackedRow(nil, g.num, num))
		}
	}
	g.frozen = packedKeys{}
}

// listed is a source of a list.
func listed(keys []store.Key) runfile.Source {
	return func() ([]store.Key, error) {
		n := min(len(keys), 4096)
		page := keys[:n]
		keys = keys[n:]
		return page, nil
	}
}

// generations returns all generations, those of a crawl oldest first.
func (s *Store) generations() iter.Seq[*generation] {
	return func(yield func(*generation) bool) {
		for _, c := range s.byName {
			for _, g := range c.gens {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// hides reports whether the packed rows and runs of g have keys that are forgotten.
func (g *generation) hides() bool { return g.low != nil || len(g.dead)+len(g.purging) > 0 }

// hidden reports whether k, if a packed row or a run of g has it, is forgotten.
func (g *generation) hidden(k *store.Key) bool {
	if !g.hides() {
		return false
	}
	if g.low != nil && bytes.Compare(k[:], g.low[:]) <= 0 {
		return true
	}
	if _, ok := g.dead[*k]; ok {
		return true
	}
	_, ok := g.purging[*k]
	if !ok {
		return false
	}
	_, again := g.revived[*k]
	return !again
}

// visible returns keys of a packed row or a run of g without those that are forgotten, in the same memory.
func (g *generation) visible(keys []store.Key) []store.Key {
	if !g.hides() {
		return keys
	}
	return slices.DeleteFunc(keys, func(k store.Key) bool { return g.hidden(&k) })
}

// kill takes a key out of its generation, with a tombstone.
func (tx *txn) kill(r *recorded) {
	g, k := r.g, &r.key
	g.keys--
	tx.touch(g)
	tx.key = appendKeyRow(tx.key[:0], tableTomb, g.num, k)
	tx.set(tx.key, nil)
	if _, ok := g.revived[*k]; ok {
		delete(g.revived, *k)
		return
	}
	if g.dead == nil {
		g.dead = map[store.Key]struct{}{}
	}
	g.dead[*k] = struct{}{}
}

// revive removes the tombstone of k, and reports whether there was one.
func (tx *txn) revive(g *generation, k *store.Key) bool {
	if len(g.dead)+len(g.purging) == 0 || !g.hidden(k) {
		return false
	}
	if _, ok := g.dead[*k]; ok {
		delete(g.dead, *k)
	} else {
		if g.revived == nil {
			g.revived = map[store.Key]struct{}{}
		}
		g.revived[*k] = struct{}{}
	}
	tx.delete(appendKeyRow(nil, tableTomb, g.num, k))
	return true
}

// dropGeneration deletes g with its keys.
func (tx *txn) dropGeneration(g *generation) {
	tx.delete(appendNumbered(nil, tableGen, g.num))
	tx.dropRuns(g, g.runs)
	for _, table := range []byte{tablePacked, tableTomb} {
		tx.deleteRange(appendNumbered(nil, table, g.num), afterNumbered(table, g.num))
	}
	tx.s.packed -= g.packed()
	g.pending, g.gone, g.dirty = nil, true, false
	g.frozen, g.rows = packedKeys{}, packedKeys{}
}
