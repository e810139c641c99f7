package pebblestore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// The new keys of a group are one packed row for each generation. Packed rows become
// runs: see keeper.

const keyLen = len(store.Key{})

func appendPackedRow(dst []byte, gen uint32, num uint64) []byte {
	return binary.BigEndian.AppendUint64(appendNumbered(dst, tablePacked, gen), num)
}

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

// parsePackedRow returns the generation, the number and the keys of a packed row.
func parsePackedRow(key, value []byte) (gen uint32, num uint64, keys []byte, err error) {
	if len(key) != 1+4+8 || len(value) == 0 || len(value)%keyLen != 0 {
		return 0, 0, nil, fmt.Errorf("cannot read packed row %x; got %d bytes: %w", key, len(value), store.ErrCorrupt)
	}
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:]), value, nil
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

// listSource is a source of a list.
type listSource struct{ keys []store.Key }

// Next implements runfile.Source.
func (l *listSource) Next() ([]store.Key, error) {
	n := min(len(l.keys), 4096)
	page := l.keys[:n]
	l.keys = l.keys[n:]
	return page, nil
}
