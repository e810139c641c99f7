package pebblestore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// run is sorted keys of one generation in a file.
type run struct {
	*runfile.Run
	busy bool // it is being merged
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

// kill writes the tombstone of k, which g has.
func (tx *txn) kill(g *generation, k *store.Key) {
	tx.set(appendKeyRow(nil, tableTomb, g.num, k), nil)
	if _, ok := g.revived[*k]; ok {
		delete(g.revived, *k)
		return
	}
	if g.dead == nil {
		g.dead = map[store.Key]struct{}{}
	}
	g.dead[*k] = struct{}{}
}

// revive takes the tombstone of k away, and reports whether there was one.
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

func appendRunRow(dst []byte, gen uint32, id runfile.ID) []byte {
	return append(appendNumbered(dst, tableRun, gen), id[:]...)
}

func appendPlace(dst []byte, p runfile.Place) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.Offset))
	dst = binary.AppendUvarint(dst, uint64(p.Keys))
	return binary.AppendUvarint(dst, uint64(p.Buckets))
}

func parseRunRow(key, value []byte) (gen uint32, id runfile.ID, p runfile.Place, err error) {
	if len(key) != 1+4+len(id) {
		return 0, id, p, fmt.Errorf("cannot read run row %x: %w", key, store.ErrCorrupt)
	}
	r := newRowReader(value)
	p = runfile.Place{Offset: int64(r.Uvarint()), Keys: int64(r.Uvarint()), Buckets: int64(r.Uvarint())}
	return binary.BigEndian.Uint32(key[1:]), runfile.ID(key[5:]), p, r.end("run row", value)
}

// addRun adds a run to g, and writes its row.
func (tx *txn) addRun(g *generation, r *run) {
	g.runs = append(slices.Clip(g.runs), r)
	r.File.Use()
	tx.set(appendRunRow(nil, g.num, r.File.ID()), appendPlace(nil, r.Place))
}

// dropRuns takes runs away from g. Their files are released when the batch is durable.
func (tx *txn) dropRuns(g *generation, runs []*run) {
	g.runs = slices.DeleteFunc(slices.Clone(g.runs), func(r *run) bool { return slices.Contains(runs, r) })
	for _, r := range runs {
		tx.delete(appendRunRow(nil, g.num, r.File.ID()))
		tx.files = append(tx.files, r.File)
	}
}

// dropGeneration deletes what g has.
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
