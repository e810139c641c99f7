package seenindex

import (
	"math/bits"
	"sort"
	"unsafe"
)

// table keeps the fingerprint of each key, which is never zero, in order in its segment.
type table struct {
	segs  [segments / 2]segment
	mem   *allocator
	print func(k *Key) uint64
	sizes [256]size // of the arrays of each class
	sink  uint64    // keeps the fetches of addSorted from being optimised away
}

// segment is an array of slots and the number of keys in it. There are so many that
// its size counts: in an index of a million keys each of its bytes is 0.07 a key.
type segment struct {
	array unsafe.Pointer // slots, zero in a gap
	place uint32         // of the array among those of its class
	state uint32         // 256 times the number of keys, and the class
}

// class is that of the array: 0 when there is none.
func (g *segment) class() uint8 { return uint8(g.state) }

func (g *segment) keys() uint32 { return g.state >> 8 }

const (
	oneKey  = 1 << 8 // in the state of a segment
	wordLen = 8      // of a fingerprint
)

// size is that of an array.
type size struct {
	slots uint32
	homes uint32 // the slots after these are no fingerprint's home: they take displaced ones
}

func newTable(print func(*Key) uint64) *table {
	t := &table{mem: newAllocator(), print: print}
	for c, slots := range classSlots() {
		n := uint32(slots)
		t.sizes[c] = size{slots: n, homes: n - min(16, n/8)}
	}
	return t
}

func (t *table) size(g *segment) *size { return &t.sizes[g.class()] }

// slots are those of a segment.
func (t *table) slots(g *segment) []uint64 {
	return unsafe.Slice((*uint64)(g.array), int(t.size(g).slots))
}

// home is where p belongs in the array of g.
func (t *table) home(p uint64, g *segment) int {
	hi, _ := bits.Mul64(p, uint64(t.size(g).homes))
	return int(hi)
}

// find returns the slot of p, or the slot where it belongs.
func (t *table) find(g *segment, p uint64) (int, bool) {
	slots := t.slots(g)
	i := t.home(p, g)
	for ; i < len(slots); i++ {
		if v := slots[i]; v == 0 || v >= p {
			return i, v == p
		}
	}
	return i, false
}

func (t *table) has(k *Key) bool {
	_, found := t.find(&t.segs[segmentOf(k)], t.print(k))
	return found
}

// add records k and reports whether it was new.
func (t *table) add(k *Key) bool { return t.insert(segmentOf(k), t.print(k)) }

// insert records p and reports whether it was new.
func (t *table) insert(seg uint32, p uint64) bool {
	g := &t.segs[seg]
	i, found := t.find(g, p)
	if found {
		return false
	}
	for t.full(g) || !t.shiftIn(g, i, p) {
		t.resize(seg, g.class()+1)
		i, _ = t.find(g, p)
	}
	g.state += oneKey
	return true
}

// full reports whether another key would fill more than 85 % of a segment. More costs
// too much time: an insertion at 90 % moves twice as many others.
func (t *table) full(g *segment) bool { return 20*(g.keys()+1) > 17*t.size(g).slots }

// shiftIn puts p in slot i, moving those from there to the next gap one
// to the right. It returns false if there is no gap.
func (t *table) shiftIn(g *segment, i int, p uint64) bool {
	slots := t.slots(g)
	gap := i
	for gap < len(slots) && slots[gap] != 0 {
		gap++
	}
	if gap == len(slots) {
		return false
	}
	copy(slots[i+1:gap+1], slots[i:gap])
	slots[i] = p
	return true
}

func (t *table) remove(k *Key) {
	seg := segmentOf(k)
	g := &t.segs[seg]
	i, found := t.find(g, t.print(k))
	if !found {
		return
	}
	slots := t.slots(g)
	end := i + 1
	for end < len(slots) && slots[end] != 0 && t.home(slots[end], g) < end {
		end++
	}
	copy(slots[i:end-1], slots[i+1:end])
	slots[end-1] = 0
	g.state -= oneKey
	if g.class() > 1 && 2*g.keys() < t.size(g).slots {
		t.resize(seg, t.classFor(g.keys()))
	}
}

// classFor returns the least class that holds n keys with some to come.
func (t *table) classFor(n uint32) uint8 {
	return uint8(1 + sort.Search(len(t.mem.classes)-2, func(c int) bool { return t.sizes[1+c].slots*8 >= 10*(n+1) }))
}

// resize moves a segment into an array of class c, or a longer one if its end
// would not do.
func (t *table) resize(seg uint32, c uint8) {
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
func (t *table) refill(g, old *segment) bool {
	if old.keys() == 0 {
		return true
	}
	slots, next := t.slots(g), 0
	for _, p := range t.slots(old) {
		if p == 0 {
			continue
		}
		at := max(next, t.home(p, g))
		if at >= len(slots) {
			return false
		}
		slots[at] = p
		next = at + 1
	}
	return true
}

// free frees the array of g, which no segment uses any more.
func (t *table) free(g *segment) {
	if g.class() == 0 {
		return
	}
	if moved, ok := t.mem.put(g.class(), g.array, g.place); ok {
		m := &t.segs[moved]
		m.array, m.place = g.array, g.place
	}
}

// ahead is how many keys' slots are fetched before the first is looked at. The
// fetches are independent loads that the processor runs at once, where a loop
// of look-ups would wait for memory at each.
const ahead = 64

func (t *table) addSorted(keys []Key, order []uint32, fresh []bool) {
	var prints [ahead]uint64
	var homes, ends [ahead]unsafe.Pointer
	for len(order) > 0 {
		n := min(ahead, len(order))
		for j, i := range order[:n] {
			k := &keys[i]
			prints[j] = t.print(k)
			homes[j], ends[j] = t.slot(&t.segs[segmentOf(k)], prints[j])
		}
		t.fetch(homes[:n])
		t.fetch(ends[:n])
		for j, i := range order[:n] {
			fresh[i] = t.insert(segmentOf(&keys[i]), prints[j])
		}
		order = order[n:]
	}
}

// hasAll sets has[i] to whether keys[i] was recorded, for each i of order, which may be any.
func (x *Index) hasAll(keys []Key, order []uint32, has []bool) {
	var prints [ahead]uint64
	var homes, ends [ahead]unsafe.Pointer
	for len(order) > 0 {
		n := min(ahead, len(order))
		for j, i := range order[:n] {
			k := &keys[i]
			t := x.half(k)
			prints[j] = t.print(k)
			homes[j], ends[j] = t.slot(&t.segs[segmentOf(k)], prints[j])
		}
		x.halves[0].fetch(homes[:n])
		x.halves[0].fetch(ends[:n])
		for j, i := range order[:n] {
			t := x.half(&keys[i])
			_, has[i] = t.find(&t.segs[segmentOf(&keys[i])], prints[j])
		}
		order = order[n:]
	}
}

// slot is the address of the home of p, and of where most walks from there end.
func (t *table) slot(g *segment, p uint64) (home, end unsafe.Pointer) {
	if g.class() == 0 {
		return unsafe.Pointer(&t.sink), unsafe.Pointer(&t.sink)
	}
	h := t.home(p, g)
	return unsafe.Add(g.array, h*wordLen), unsafe.Add(g.array, min(h+walk, int(t.size(g).slots)-1)*wordLen)
}

// walk is how many slots are seldom passed in a look-up.
const walk = 7

// fetch reads the words at the homes. Nothing else is in this loop, so that the
// processor gets to many of them while it waits for the first.
func (t *table) fetch(homes []unsafe.Pointer) {
	var sum uint64
	for _, at := range homes {
		sum += *(*uint64)(at)
	}
	t.sink = sum
}

// reserve makes room in the segments from lo to hi for their share of n keys and the spread
// of shares.
func (t *table) reserve(n int64, lo, hi uint32) {
	share := float64(n) / segments
	c := t.classFor(uint32(share * 1.02))
	for i := lo; i <= hi; i++ {
		if t.segs[i].class() < c {
			t.resize(i, c)
		}
	}
}

// bytes returns the memory that the table takes.
func (t *table) bytes() int64 {
	n := t.mem.bytes + int64(unsafe.Sizeof(*t))
	for i := range t.mem.classes {
		n += 4 * int64(cap(t.mem.classes[i].owners))
	}
	return n
}
