package pebblestore

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// The new keys of a group are one packed row for each generation. Packed rows become
// runs: see keeper.

const keyLen = len(store.Key{})

// appendPackedRow appends the key of a packed row.
func appendPackedRow(dst []byte, gen uint32, num uint64) []byte {
	return binary.BigEndian.AppendUint64(appendNumbered(dst, tablePacked, gen), num)
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
func (s *Store) writePacked(tx *txn) {
	for _, g := range tx.packs {
		if n := int64(len(g.pending) / keyLen); n > 0 {
			tx.key = appendPackedRow(tx.key[:0], g.num, s.nextPacked)
			tx.set(tx.key, g.pending)
			g.packed += n
			s.packed += n
			s.packSpace, g.pending = g.pending[:0], nil
		}
	}
	if len(tx.packs) > 0 {
		s.nextPacked++
		tx.packs = tx.packs[:0]
	}
	if s.packed >= s.flushAt() {
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

// packedRows are the packed rows of a generation up to a number.
type packedRows struct {
	nums []uint64
	keys []store.Key // in the order of the rows
}

// readPacked reads the packed rows of a generation up to a number.
func (s *Store) readPacked(r pebble.Reader, gen uint32, upTo uint64) (rows packedRows, err error) {
	it, err := r.NewIter(bounds(appendPackedRow(nil, gen, 0), afterPacked(gen, upTo)))
	if err != nil {
		return rows, err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err != nil {
			break
		}
		var num uint64
		if _, num, value, err = parsePackedRow(it.Key(), value); err != nil {
			break
		}
		rows.nums = append(rows.nums, num)
		for ; len(value) > 0; value = value[keyLen:] {
			rows.keys = append(rows.keys, store.Key(value))
		}
	}
	if err == nil {
		err = it.Error()
	}
	if e := s.closeAll(it); err == nil {
		err = e
	}
	return rows, err
}

// afterPacked is the first key after the packed row of a number.
func afterPacked(gen uint32, num uint64) []byte {
	return append(appendPackedRow(nil, gen, num), 0)
}

// fewRows is up to how many rows are deleted one by one.
const fewRows = 16

// deletePacked deletes the packed rows that were read.
func (tx *txn) deletePacked(gen uint32, nums []uint64) {
	if len(nums) > fewRows {
		tx.deleteRange(appendPackedRow(nil, gen, 0), afterPacked(gen, nums[len(nums)-1]))
		return
	}
	for _, num := range nums {
		tx.singleDelete(appendPackedRow(nil, gen, num))
	}
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

var _ runfile.Source = (*listSource)(nil)
