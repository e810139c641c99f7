package audit

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
)

// table numbers distinct strings. Their text stands in chunks, one after another, so that growing copies nothing and
// leaves nothing to scan for the garbage collector. Two strings are one if their 64-bit hashes are equal, as forms of
// URLs are: of 10 million strings, two that differ have one in 4e5 tables.
type table struct {
	seed   maphash.Seed
	index  map[uint64]uint32 // numbers by hash; nil while nothing is looked up, see drop
	where  []uint64          // of each string: its chunk, and in the lower chunkBits its offset there
	chunks [][]byte
}

const chunkBits = 24 // a string is shorter than a chunk

func newTable() table { return table{seed: maphash.MakeSeed()} }

func (t *table) len() int { return len(t.where) }

// at returns a string, which must not be changed.
func (t *table) at(id uint32) []byte {
	chunk, from := t.where[id]>>chunkBits, t.where[id]&(1<<chunkBits-1)
	text := t.chunks[chunk]
	to := uint64(len(text))
	if int(id)+1 < len(t.where) && t.where[id+1]>>chunkBits == chunk {
		to = t.where[id+1] & (1<<chunkBits - 1)
	}
	return text[from:to:to]
}

// add returns the number of s, which is new or not.
func (t *table) add(s string) (uint32, error) {
	if t.index == nil {
		t.index = make(map[uint64]uint32, t.len())
		for id := range uint32(t.len()) {
			t.index[maphash.Bytes(t.seed, t.at(id))] = id
		}
	}
	hash := maphash.String(t.seed, s)
	if id, known := t.index[hash]; known {
		return id, nil
	}
	id := t.len()
	if len(s) >= 1<<chunkBits || id >= math.MaxUint32-1 {
		return 0, fmt.Errorf("cannot keep another string of %d bytes; got %d strings already; want fewer than 16 MiB and 2^32", len(s), id)
	}
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last])+len(s) >= cap(t.chunks[last]) {
		last++
		t.chunks = append(t.chunks, make([]byte, 0, max(len(s)+1, 1<<16<<min(last, 4))))
	}
	t.where = append(t.where, uint64(last)<<chunkBits|uint64(len(t.chunks[last])))
	t.chunks[last] = append(t.chunks[last], s...)
	t.index[hash] = uint32(id)
	return uint32(id), nil
}

// drop frees the index; the next add makes it again.
func (t *table) drop() { t.index = nil }

// compare orders two strings by length, then bytewise.
func (t *table) compare(a, b uint32) int {
	u, v := t.at(a), t.at(b)
	if len(u) != len(v) {
		return len(u) - len(v)
	}
	return bytes.Compare(u, v)
}
