package seenindex

import "unsafe"

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
