package uniq

import (
	"hash/maphash"
	"math/bits"
)

// A Sum is a 128-bit hash of the compared text; a set in memory keeps 76 of its bits.
type Sum struct{ Hi, Lo uint64 }

// A Hasher makes sums. Its seeds belong to this process, so collisions can't be prepared.
type Hasher struct{ hi, lo maphash.Seed }

// NewHasher returns a hasher with seeds of its own.
func NewHasher() Hasher { return Hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// Sum returns the sum of a text.
func (h Hasher) Sum(p []byte) Sum { return Sum{maphash.Bytes(h.hi, p), maphash.Bytes(h.lo, p)} }

const (
	shardBits  = 12
	firstSlots = 8
)

// A table holds sums: the shard is chosen by 12 bits of lo, and hi is kept. Shards grow by a
// quarter when they are 7/8 full, so growing is short and leaves little room unused.
// One goroutine uses it.
type table struct {
	shards [1 << shardBits]shard
	n      int64
	slots  int64
	seen   uint64 // by touch
}

// shard is an open hash table; 0 marks a free slot.
type shard struct {
	slots []uint64
	n     int
}

// add records a sum and reports whether it was new.
func (t *table) add(s Sum) bool {
	sh, hi := t.find(s)
	if len(sh.slots) == 0 {
		t.grow(sh)
	}
	i := sh.place(hi)
	if sh.slots[i] != 0 {
		return false
	}
	sh.slots[i] = hi
	sh.n++
	t.n++
	if sh.n*8 >= len(sh.slots)*7 {
		t.grow(sh)
	}
	return true
}

// touch reads the slots of some sums, so that the processor waits once for the memory of all that are added next.
func (t *table) touch(sums []Sum) {
	for _, s := range sums {
		if sh, hi := t.find(s); len(sh.slots) > 0 {
			home, _ := bits.Mul64(hi, uint64(len(sh.slots)))
			t.seen ^= sh.slots[home]
		}
	}
}

// has reports whether a sum was recorded.
func (t *table) has(s Sum) bool {
	sh, hi := t.find(s)
	return len(sh.slots) > 0 && sh.slots[sh.place(hi)] != 0
}

func (t *table) find(s Sum) (*shard, uint64) {
	return &t.shards[s.Lo>>(64-shardBits)], max(s.Hi, 1)
}

// bytes returns the memory of the slots.
func (t *table) bytes() int64 { return 8 * t.slots }

// place returns the slot of hi, or the free one where it belongs.
func (sh *shard) place(hi uint64) int {
	home, _ := bits.Mul64(hi, uint64(len(sh.slots)))
	i := int(home)
	for sh.slots[i] != 0 && sh.slots[i] != hi {
		if i++; i == len(sh.slots) {
			i = 0
		}
	}
	return i
}

func (t *table) grow(sh *shard) {
	old := sh.slots
	sh.slots = make([]uint64, max(firstSlots, len(old)+len(old)/4))
	t.slots += int64(len(sh.slots) - len(old))
	for _, hi := range old {
		if hi != 0 {
			sh.slots[sh.place(hi)] = hi
		}
	}
}
