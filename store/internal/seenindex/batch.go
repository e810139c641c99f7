package seenindex

import "unsafe"

// ahead is how many keys' slots are fetched before the first is looked at. The
// fetches are independent loads that the processor runs at once, where a loop
// of look-ups would wait for memory at each.
const ahead = 64

func (t *table[P, S]) add(k *Key) bool {
	p, s := t.words(k)
	return t.insert(segmentOf(k), p, s)
}

func (t *table[P, S]) has(k *Key) bool {
	p, s := t.words(k)
	_, found := t.find(&t.segs[segmentOf(k)], p, s)
	return found
}

func (t *table[P, S]) drop(k *Key) bool {
	p, s := t.words(k)
	return t.remove(segmentOf(k), p, s)
}

func (t *table[P, S]) addSorted(keys []Key, order []uint32, fresh []bool) {
	var ps [ahead]P
	var ss [ahead]S
	for len(order) > 0 {
		n := min(ahead, len(order))
		var sum P
		for j, i := range order[:n] {
			k := &keys[i]
			ps[j], ss[j] = t.words(k)
			sum += t.peek(&t.segs[segmentOf(k)], ps[j])
		}
		t.sink = sum
		for j, i := range order[:n] {
			fresh[i] = t.insert(segmentOf(&keys[i]), ps[j], ss[j])
		}
		order = order[n:]
	}
}

// peek reads the word at the home of p.
func (t *table[P, S]) peek(g *segment, p P) P {
	if g.slots == 0 {
		return 0
	}
	return *(*P)(unsafe.Add(g.array, t.home(p, g)*int(unsafe.Sizeof(p))))
}

// reserve gives every segment room for its share of n keys and the spread of
// shares.
func (t *table[P, S]) reserve(n int64) {
	share := float64(n) / segments
	c := t.classFor(uint32(share * 1.02))
	for i := range t.segs {
		if g := &t.segs[i]; g.slots < uint32(t.mem.classes[c].slots) {
			t.resize(uint32(i), c+b2u(g.slots == 0))
		}
	}
}

// b2u is 1 for true: resize counts from the class before the first.
func b2u(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (t *table[P, S]) len() int64 { return t.n }

func (t *table[P, S]) bytes() int64 {
	return t.mem.bytes + int64(unsafe.Sizeof(*t)) + 4*t.owners()
}

// owners is how many arrays there are.
func (t *table[P, S]) owners() (n int64) {
	for i := range t.mem.classes {
		n += int64(cap(t.mem.classes[i].owners))
	}
	return n
}

func (t *table[P, S]) close() { t.mem.close() }
