package pebblestore

import (
	"encoding/binary"
	"math/bits"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// placeKey names a URL of any crawl.
type placeKey struct {
	crawl uint32
	key   store.Key
}

// placeEntry is a place in memory. It has no pointers for the garbage collector, and no
// more bits than it needs.
type placeEntry struct {
	placeKey
	queue uint32
	due   int64
	rest  uint64 // seq << 3 | priority
}

func newPlaceEntry(at placeKey, p *pointer) placeEntry {
	return placeEntry{at, p.queue, p.at.Due, p.at.Seq<<3 | uint64(p.priority)}
}

func (e *placeEntry) pointer() pointer {
	return pointer{e.queue, uint8(e.rest & 7), sched.Head{Due: e.due, Seq: e.rest >> 3}}
}

// placeTable has the places of the journal: a ring of them in the order of their rows, and
// a hash table of the latest place of each URL. It is three times as fast as a map,
// since the ring is written in order and keys are hashes already.
type placeTable struct {
	ring       []placeEntry // its length is a power of two
	first, end uint64       // numbers of the places in the ring
	slots      []placeSlot  // twice as many as places
	secret     uint64       // unknown to the authors of URLs
	fetched    placeSlot    // so that the compiler keeps what fetch reads
}

// placeSlot is 32 bits of a URL's hash, then 1 + the low bits of the number of its place; 0 is
// free. Only a slot with the hash of a URL costs a look into the ring, which is a cache miss.
type placeSlot uint64

func (s placeSlot) hash() uint32 { return uint32(s >> 32) }

// at returns the place of a number.
func (t *placeTable) at(n uint64) *placeEntry { return &t.ring[n&uint64(len(t.ring)-1)] }

// slot returns where the slot of a URL is, or would be.
func (t *placeTable) slot(k *placeKey) (i int, found bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	hash := t.hash(k)
	for i = t.home(hash); t.slots[i] != 0; i = t.after(i) {
		if s := t.slots[i]; s.hash() == hash && t.entry(s).placeKey == *k {
			return i, true
		}
	}
	return i, false
}

// hash returns the hash of a URL.
func (t *placeTable) hash(k *placeKey) uint32 {
	h := binary.LittleEndian.Uint64(k.key[8:]) ^ t.secret ^ uint64(k.crawl)
	return uint32(h * 0x9e3779b97f4a7c15 >> 32)
}

// home returns where the slot of a hash is if no other is there.
func (t *placeTable) home(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

// after returns the slot after another.
func (t *placeTable) after(i int) int { return (i + 1) & (len(t.slots) - 1) }

// entry returns the place of a slot.
func (t *placeTable) entry(s placeSlot) *placeEntry { return t.at(uint64(uint32(s) - 1)) }

// get returns the place of a URL, nil if it has none.
func (t *placeTable) get(k placeKey) *placeEntry {
	i, found := t.slot(&k)
	if !found {
		return nil
	}
	return t.entry(t.slots[i])
}

// put adds a place as the latest of its URL.
func (t *placeTable) put(e placeEntry) {
	if t.end-t.first == uint64(len(t.ring)) {
		t.grow()
	}
	*t.at(t.end) = e
	i, _ := t.slot(&e.placeKey)
	t.slots[i] = t.slotFor(t.hash(&e.placeKey), t.end)
	t.end++
}

// fetch reads the slot of a URL that is put soon, so that its cache miss overlaps with others.
func (t *placeTable) fetch(k *placeKey) {
	if len(t.slots) > 0 {
		t.fetched ^= t.slots[t.home(t.hash(k))]
	}
}

// slotFor returns the slot of a URL whose latest place has a number.
func (t *placeTable) slotFor(hash uint32, n uint64) placeSlot {
	return placeSlot(hash)<<32 | placeSlot(1+(n&uint64(len(t.ring)-1)))
}

// remove removes the place of a URL. Its number in the ring is passed over later.
func (t *placeTable) remove(k placeKey) {
	if i, found := t.slot(&k); found {
		t.clear(i)
	}
}

// clear frees a slot, and moves those that had to pass by it.
func (t *placeTable) clear(i int) {
	t.slots[i] = 0
	mask := len(t.slots) - 1
	for j := t.after(i); t.slots[j] != 0; j = t.after(j) {
		if home := t.home(t.slots[j].hash()); (j-home)&mask >= (j-i)&mask {
			t.slots[i], t.slots[j] = t.slots[j], 0
			i = j
		}
	}
}

// slotOf returns the slot of a place that has a number, -1 if the URL has a later place or
// none. It looks at slots alone.
func (t *placeTable) slotOf(e *placeEntry, n uint64) int {
	want := t.slotFor(t.hash(&e.placeKey), n)
	for i := t.home(want.hash()); t.slots[i] != 0; i = t.after(i) {
		if t.slots[i] == want {
			return i
		}
	}
	return -1
}

// shift removes the oldest place, and reports whether it was the latest of its URL. The place is
// good until the next put.
func (t *placeTable) shift() (e *placeEntry, latest bool) {
	e = t.at(t.first)
	i := t.slotOf(e, t.first)
	if i >= 0 {
		t.clear(i)
	}
	t.first++
	return e, i >= 0
}

// fill adds places to an empty table, which has room for them from the beginning.
func (t *placeTable) fill(all []placeEntry) {
	if len(all) == 0 {
		return
	}
	t.resize(1 << bits.Len(uint(len(all)-1)))
	for i := range all {
		t.put(all[i])
	}
}

// resize sets the length of the ring, and empties it.
func (t *placeTable) resize(n int) {
	t.ring = make([]placeEntry, n)
	t.slots = make([]placeSlot, 2*n)
}

// grow doubles the ring. The old slots are read in their order: those of the new slots are then
// written in two passes side by side, so that few of them are cache misses.
func (t *placeTable) grow() {
	old := *t
	t.resize(max(64, 2*len(old.ring)))
	for n := t.first; n < t.end; n++ {
		*t.at(n) = *old.at(n)
	}
	mask := uint64(len(old.ring) - 1)
	for _, s := range old.slots {
		if s == 0 {
			continue
		}
		n := t.first + (uint64(uint32(s)-1)-t.first)&mask
		i := t.home(s.hash())
		for t.slots[i] != 0 {
			i = t.after(i)
		}
		t.slots[i] = t.slotFor(s.hash(), n)
	}
}
