package seenindex

import (
	"math/bits"
	"unsafe"
)

// table keeps of each key a primary word, which orders it in its segment, and
// a secondary one, which is compared only. A primary word is never zero.
type table[S comparable] struct {
	segs  [segments / 2]segment
	mem   *allocator
	n     int64
	words func(k *Key) (uint64, S)
	sizes [256]size // of the arrays of each class
	sink  uint64    // keeps the fetches of addSorted from being optimised away
}

// segment is an array of slots and the number of keys in it. There are so many that
// its size counts: in an index of a million keys each of its bytes is 0.07 a key.
type segment struct {
	array unsafe.Pointer // slots primary words, then as many secondary ones
	place uint32         // of the array among those of its class
	state uint32         // 256 times the number of keys, and the class
}

// class is that of the array: 0 when there is none.
func (g *segment) class() uint8 { return uint8(g.state) }

// keys is the number of keys.
func (g *segment) keys() uint32 { return g.state >> 8 }

const (
	oneKey  = 1 << 8 // in the state of a segment
	wordLen = 8      // of a primary word
)

// size is that of an array.
type size struct {
	slots uint32
	homes uint32 // the slots after these are no fingerprint's home: they take displaced ones
}

func newTable[S comparable](words func(*Key) (uint64, S)) *table[S] {
	var s S
	t := &table[S]{
		mem:   newAllocator(wordLen + int(unsafe.Sizeof(s))),
		words: words,
	}
	for c, slots := range classSlots() {
		n := uint32(slots)
		t.sizes[c] = size{slots: n, homes: n - min(16, n/8)}
	}
	return t
}

func (t *table[S]) size(g *segment) *size { return &t.sizes[g.class()] }

// arrays are the words of a segment.
func (t *table[S]) arrays(g *segment) ([]uint64, []S) {
	n := int(t.size(g).slots)
	return unsafe.Slice((*uint64)(g.array), n),
		unsafe.Slice((*S)(unsafe.Add(g.array, n*wordLen)), n)
}

// home is where p belongs in the array of g.
func (t *table[S]) home(p uint64, g *segment) int {
	hi, _ := bits.Mul64(p, uint64(t.size(g).homes))
	return int(hi)
}

// find returns the slot of p and s, or the slot where they belong.
func (t *table[S]) find(g *segment, p uint64, s S) (int, bool) {
	ps, ss := t.arrays(g)
	i := t.home(p, g)
	for ; i < len(ps); i++ {
		switch v := ps[i]; {
		case v == 0 || v > p:
			return i, false
		case v == p && ss[i] == s:
			return i, true
		}
	}
	return i, false
}

// insert records p and s and reports whether they were new.
func (t *table[S]) insert(seg uint32, p uint64, s S) bool {
	g := &t.segs[seg]
	i, found := t.find(g, p, s)
	if found {
		return false
	}
	for t.full(g) || !t.shiftIn(g, i, p, s) {
		t.resize(seg, g.class()+1)
		i, _ = t.find(g, p, s)
	}
	g.state += oneKey
	t.n++
	return true
}

// full reports whether another key would fill more than 85 % of a segment. More costs
// too much time: an insertion at 90 % moves twice as many others.
func (t *table[S]) full(g *segment) bool { return 20*(g.keys()+1) > 17*t.size(g).slots }

// shiftIn puts p and s in slot i, moving those from there to the next gap one
// to the right. It returns false if there is no gap.
func (t *table[S]) shiftIn(g *segment, i int, p uint64, s S) bool {
	ps, ss := t.arrays(g)
	gap := i
	for gap < len(ps) && ps[gap] != 0 {
		gap++
	}
	if gap == len(ps) {
		return false
	}
	copy(ps[i+1:gap+1], ps[i:gap])
	copy(ss[i+1:gap+1], ss[i:gap])
	ps[i], ss[i] = p, s
	return true
}

// remove forgets p and s and reports whether they were there.
func (t *table[S]) remove(seg uint32, p uint64, s S) bool {
	g := &t.segs[seg]
	i, found := t.find(g, p, s)
	if !found {
		return false
	}
	ps, ss := t.arrays(g)
	end := i + 1
	for end < len(ps) && ps[end] != 0 && t.home(ps[end], g) < end {
		end++
	}
	copy(ps[i:end-1], ps[i+1:end])
	copy(ss[i:end-1], ss[i+1:end])
	ps[end-1] = 0
	g.state -= oneKey
	t.n--
	if g.class() > 1 && 2*g.keys() < t.size(g).slots {
		t.resize(seg, t.classFor(g.keys()))
	}
	return true
}

// classFor returns the least class that holds n keys with some to come.
func (t *table[S]) classFor(n uint32) uint8 {
	lo, hi := 1, len(t.mem.classes)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if t.sizes[mid].slots*8 >= 10*(n+1) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return uint8(lo)
}

// resize moves a segment into an array of class c, or a longer one if its end
// would not do.
func (t *table[S]) resize(seg uint32, c uint8) {
	g := &t.segs[seg]
	for old := *g; ; c++ {
		g.array, g.place = t.mem.get(c, seg)
		g.state = old.keys()*oneKey + uint32(c)
		if t.refill(g, &old) {
			t.free(&old)
			return
		}
		t.free(g)
	}
}

// refill copies the keys of old in order into the empty array of g. It returns
// false if they run over its end.
func (t *table[S]) refill(g, old *segment) bool {
	if old.keys() == 0 {
		return true
	}
	ps, ss := t.arrays(g)
	ops, oss := t.arrays(old)
	next := 0
	for i, p := range ops {
		if p == 0 {
			continue
		}
		at := max(next, t.home(p, g))
		if at >= len(ps) {
			return false
		}
		ps[at], ss[at] = p, oss[i]
		next = at + 1
	}
	return true
}

// free frees the array of g, which no segment uses any more.
func (t *table[S]) free(g *segment) {
	if g.class() == 0 {
		return
	}
	if moved, ok := t.mem.put(g.class(), g.array, g.place); ok {
		m := &t.segs[moved]
		m.array, m.place = g.array, g.place
	}
}
