package pebblestore

import (
	"encoding/binary"

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
// a hash table of numbers of the latest place of each URL. It is three times as fast
// as a map, since the ring is written in order and keys are hashes already.
type placeTable struct {
	ring       []placeEntry // its length is a power of two
	first, end uint64       // numbers of the places in the ring
	slots      []uint32     // 1 + the low bits of a number; 0 is free; twice as many as places
	secret     uint64       // unknown to the authors of URLs
}

// at returns the place of a number.
func (t *placeTable) at(n uint64) *placeEntry { return &t.ring[n&uint64(len(t.ring)-1)] }

// slot returns where the number of a URL is in slots, or would be.
func (t *placeTable) slot(k *placeKey) (i int, found bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i = t.home(k); t.slots[i] != 0; i = (i + 1) & (len(t.slots) - 1) {
		if t.at(uint64(t.slots[i]-1)).placeKey == *k {
			return i, true
		}
	}
	return i, false
}

// home is where the number of a URL is if no other is.
func (t *placeTable) home(k *placeKey) int {
	h := binary.LittleEndian.Uint64(k.key[8:]) ^ t.secret ^ uint64(k.crawl)
	return int(h * 0x9e3779b97f4a7c15 >> 32 & uint64(len(t.slots)-1))
}

// get returns the place of a URL, nil if it has none.
func (t *placeTable) get(k placeKey) *placeEntry {
	i, found := t.slot(&k)
	if !found {
		return nil
	}
	return t.at(uint64(t.slots[i] - 1))
}

// put adds a place as the latest of its URL.
func (t *placeTable) put(e placeEntry) {
	if t.end-t.first == uint64(len(t.ring)) {
		t.grow()
	}
	*t.at(t.end) = e
	i, _ := t.slot(&e.placeKey)
	t.slots[i] = t.number(t.end)
	t.end++
}

// number is what slots has of a number.
func (t *placeTable) number(n uint64) uint32 { return 1 + uint32(n&uint64(len(t.ring)-1)) }

// remove removes the place of a URL. Its number in the ring is passed over later.
func (t *placeTable) remove(k placeKey) {
	i, found := t.slot(&k)
	if !found {
		return
	}
	t.slots[i] = 0
	mask := len(t.slots) - 1
	for j := (i + 1) & mask; t.slots[j] != 0; j = (j + 1) & mask { // move those that had to pass by it
		home := t.home(&t.at(uint64(t.slots[j] - 1)).placeKey)
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i], t.slots[j] = t.slots[j], 0
			i = j
		}
	}
}

// latest returns the place of a number, and reports whether it is the latest of its URL.
func (t *placeTable) latest(n uint64) (e *placeEntry, latest bool) {
	e = t.at(n)
	i, found := t.slot(&e.placeKey)
	return e, found && t.slots[i] == t.number(n)
}

// shift removes the oldest place.
func (t *placeTable) shift() {
	if e, latest := t.latest(t.first); latest {
		t.remove(e.placeKey)
	}
	t.first++
}

// grow doubles the ring.
func (t *placeTable) grow() {
	old := *t
	t.ring = make([]placeEntry, max(64, 2*len(old.ring)))
	t.slots = make([]uint32, 2*len(t.ring))
	for n := t.first; n < t.end; n++ {
		*t.at(n) = *old.at(n)
	}
	for n := t.first; n < t.end; n++ {
		e := t.at(n)
		if i, found := old.slot(&e.placeKey); found && old.slots[i] == old.number(n) {
			j, _ := t.slot(&e.placeKey)
			t.slots[j] = t.number(n)
		}
	}
}
