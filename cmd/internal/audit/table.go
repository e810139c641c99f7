package audit

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"sort"
)

// table numbers distinct strings. Their text stands in chunks, one after another, so
// that growing copies nothing; where each begins takes four bytes, and finding it by its
// text a slot of four more, which are dropped while there are no adds. Millions cost little more than
// their text.
type table struct {
	index  slots
	where  pages[uint32] // offset of each string in its chunk
	chunks [][]byte
	begins []uint32 // number of each chunk's first string
}

const (
	chunkSize = 1 << 24 // so a string is shorter than this
	pageBits  = 14
)

// pages is a list that grows without copying.
type pages[T any] struct {
	all [][]T
	n   int
}

func (p *pages[T]) add(v T) {
	if p.n>>pageBits == len(p.all) {
		p.all = append(p.all, make([]T, 0, min(1<<pageBits, max(64, p.n))))
	}
	last := &p.all[p.n>>pageBits]
	*last = append(*last, v)
	p.n++
}

func (p *pages[T]) at(i uint32) *T { return &p.all[i>>pageBits][i&(1<<pageBits-1)] }

// slots finds numbers by a hash, of what only the caller knows.
type slots struct {
	seed maphash.Seed
	at   []uint32 // number plus one; 0 is free; nil while there are no look-ups
}

// find returns the slot of the number that is has accepts, or the free one it would take.
func (s *slots) find(hash uint64, is func(id uint32) bool) uint64 {
	mask := uint64(len(s.at) - 1)
	slot := hash & mask
	for s.at[slot] != 0 && !is(s.at[slot]-1) {
		slot = (slot + 1) & mask
	}
	return slot
}

// fit makes room for n numbers and one more, whose hashes it asks for if they move.
func (s *slots) fit(n int, hashOf func(id uint32) uint64) {
	if 4*(n+1) <= 3*len(s.at) {
		return
	}
	size := max(64, len(s.at))
	for 4*(n+1) > 3*size {
		size *= 2
	}
	s.at = make([]uint32, size)
	for id := range uint32(n) {
		s.at[s.find(hashOf(id), func(uint32) bool { return false })] = id + 1
	}
}

// drop frees the memory; fit allocates it again.
func (s *slots) drop() { s.at = nil }

func newTable() table { return table{index: slots{seed: maphash.MakeSeed()}} }

func (t *table) len() int { return t.where.n }

// at returns a string, which must not be changed.
func (t *table) at(id uint32) []byte {
	chunk := sort.Search(len(t.begins), func(i int) bool { return t.begins[i] > id }) - 1
	from, text := *t.where.at(id), t.chunks[chunk]
	to := uint32(len(text))
	if next := int(id) + 1; next < t.len() && (chunk+1 == len(t.begins) || uint32(next) < t.begins[chunk+1]) {
		to = *t.where.at(uint32(next))
	}
	return text[from:to:to]
}

func (t *table) hash(id uint32) uint64 { return maphash.Bytes(t.index.seed, t.at(id)) }

// add returns the number of s, which is new or not.
func (t *table) add(s string) (uint32, error) {
	t.index.fit(t.len(), t.hash)
	slot := t.index.find(maphash.String(t.index.seed, s), func(id uint32) bool { return string(t.at(id)) == s })
	if known := t.index.at[slot]; known != 0 {
		return known - 1, nil
	}
	if err := t.store(s); err != nil {
		return 0, err
	}
	t.index.at[slot] = uint32(t.len())
	return uint32(t.len() - 1), nil
}

// store appends s to the last chunk, or to a new one.
func (t *table) store(s string) error {
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last])+len(s) > cap(t.chunks[last]) {
		if len(s) >= chunkSize || t.len() >= math.MaxUint32-1 {
			return fmt.Errorf("cannot keep another string of %d bytes; got %d strings already; want fewer than 16 MiB and 2^32", len(s), t.len())
		}
		last++
		t.chunks = append(t.chunks, make([]byte, 0, max(len(s), 1<<16<<min(last, 8))))
		t.begins = append(t.begins, uint32(t.len()))
	}
	t.where.add(uint32(len(t.chunks[last])))
	t.chunks[last] = append(t.chunks[last], s...)
	return nil
}

// compare orders two strings by length, then bytewise.
func (t *table) compare(a, b uint32) int {
	u, v := t.at(a), t.at(b)
	if len(u) != len(v) {
		return len(u) - len(v)
	}
	return bytes.Compare(u, v)
}
