package audit

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
)

// table numbers distinct strings. It keeps their text in chunks, so that growing
// copies little, and finds a string by slots of four bytes each: millions cost
// little more than their text.
type table struct {
	seed   maphash.Seed
	slots  []uint32 // number of a string plus one; 0 is free
	where  []uint64 // offset and length of each string's text
	chunks [][]byte
}

const (
	chunkBits  = 24
	chunkSize  = 1 << chunkBits
	lengthBits = 24 // so a string is shorter than a chunk
	maxChunks  = 1 << (64 - lengthBits - chunkBits)
)

func newTable() table {
	return table{seed: maphash.MakeSeed(), slots: make([]uint32, 64)}
}

func (t *table) len() int { return len(t.where) }

// at returns a string, which must not be changed.
func (t *table) at(id uint32) []byte {
	at, n := t.where[id]>>lengthBits, t.where[id]&(1<<lengthBits-1)
	from := at & (chunkSize - 1)
	return t.chunks[at>>chunkBits][from : from+n : from+n]
}

// add returns the number of s, which is new or not.
func (t *table) add(s string) (uint32, error) {
	slot := t.find([]byte(s))
	if t.slots[slot] != 0 {
		return t.slots[slot] - 1, nil
	}
	at, err := t.store(s)
	if err != nil {
		return 0, err
	}
	id := uint32(len(t.where))
	t.where = append(t.where, at)
	t.slots[slot] = id + 1
	if 4*len(t.where) > 3*len(t.slots) {
		t.grow()
	}
	return id, nil
}

// find returns the slot of s, or the free one it would take.
func (t *table) find(s []byte) uint64 {
	mask := uint64(len(t.slots) - 1)
	slot := maphash.Bytes(t.seed, s) & mask
	for t.slots[slot] != 0 && !bytes.Equal(t.at(t.slots[slot]-1), s) {
		slot = (slot + 1) & mask
	}
	return slot
}

// store appends the text of s to the last chunk, or to a new one.
func (t *table) store(s string) (at uint64, err error) {
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last])+len(s) > chunkSize {
		last++
		if last == maxChunks || len(s) >= chunkSize || len(t.where) >= math.MaxUint32-1 {
			return 0, fmt.Errorf("cannot keep another string of %d bytes; got %d strings already; want fewer than 16 MiB and 2^32", len(s), len(t.where))
		}
		t.chunks = append(t.chunks, make([]byte, 0, min(chunkSize, max(len(s), 1<<16<<min(last, 8)))))
	}
	chunk := t.chunks[last]
	at = uint64(last)<<chunkBits | uint64(len(chunk))
	t.chunks[last] = append(chunk, s...)
	return at<<lengthBits | uint64(len(s)), nil
}

// grow doubles the slots.
func (t *table) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for id := range t.where {
		slot := maphash.Bytes(t.seed, t.at(uint32(id))) & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = uint32(id) + 1
	}
}
