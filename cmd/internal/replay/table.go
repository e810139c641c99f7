package replay

import "github.com/firstseen/firstseen/cmd/internal/uniq"

// noOrdinal stands for a spelling that has no number because the table was full.
const noOrdinal = ^uint32(0)

// A table numbers spellings by their sums, in order of appearance. It is an open
// hash table in shards, so that growing costs a short pause and little memory
// beyond the table itself. One goroutine uses it.
type table struct {
	shards [shardCount]shard
	n      uint32
	most   uint32 // spellings it may hold
}

const shardCount = 256

type shard struct {
	slots []slot
	n     int
}

// slot is 16 bytes: 96 bits of a sum, so that among 10 million spellings two share them with a probability of 1e-15, and the
// spelling's number plus one, 0 when it is free.
type slot struct {
	hi     uint64
	lo     uint32
	number uint32
}

// tableEntry is what a spelling costs at most, with its counters.
const tableEntry = 40

func newTable(budget int64) *table {
	t := &table{most: uint32(min(max(budget/tableEntry, 1), 1<<31))}
	for i := range t.shards {
		t.shards[i].slots = make([]slot, 64)
	}
	return t
}

// number returns the number of a text, and whether the text is new. A full table returns noOrdinal for
// a text that it lacks.
func (t *table) number(s uniq.Sum) (ordinal uint32, fresh bool) {
	sh, lo := &t.shards[s.Hi>>56], uint32(s.Lo)
	slots := sh.slots
	mask := uint64(len(slots) - 1)
	for i := s.Hi & mask; ; i = (i + 1) & mask {
		switch p := &slots[i]; {
		case p.number == 0:
			if t.n >= t.most {
				return noOrdinal, false
			}
			t.n++
			*p = slot{s.Hi, lo, t.n}
			sh.grow()
			return t.n - 1, true
		case p.hi == s.Hi && p.lo == lo:
			return p.number - 1, false
		}
	}
}

// grow counts a new slot and doubles the shard at three quarters.
func (sh *shard) grow() {
	sh.n++
	if sh.n*4 < len(sh.slots)*3 {
		return
	}
	old := sh.slots
	sh.slots = make([]slot, 2*len(old))
	mask := uint64(len(sh.slots) - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		i := s.hi & mask
		for sh.slots[i].number != 0 {
			i = (i + 1) & mask
		}
		sh.slots[i] = s
	}
}

// A column holds a value for each spelling, in chunks, so that it grows without
// being copied.
type column[T any] struct{ chunks [][]T }

const chunkBits = 16

// at returns the place of a value and makes room for it.
func (c *column[T]) at(i uint32) *T {
	n := int(i >> chunkBits)
	for n >= len(c.chunks) {
		c.chunks = append(c.chunks, make([]T, 1<<chunkBits))
	}
	return &c.chunks[n][i&(1<<chunkBits-1)]
}
