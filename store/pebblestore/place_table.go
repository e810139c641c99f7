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

// placeTable is the journal of places with a hash table of the latest place of each URL. It is three
// times as fast as a map, since keys are hashes already.
type placeTable struct {
	journal[placeEntry]
	slots   []placeSlot // at least twice as many as places
	used    int
	secret  uint64    // unknown to the authors of URLs
	fetched placeSlot // so that the compiler keeps what fetch reads
}

// placeSlot is 32 bits of a URL's hash, of which the first is 1, then 32 bits of the number of its place;
// 0 is free. Only a slot with the hash of a URL costs a look into the journal, which is a cache miss.
type placeSlot uint64

func (s placeSlot) hash() uint32 { return uint32(s >> 32) }

// entry returns the place of a slot.
func (t *placeTable) entry(s placeSlot) *placeEntry { return t.at(uint64(uint32(s))) }

// hash returns the hash of a URL.
func (t *placeTable) hash(k *placeKey) uint32 {
	h := binary.LittleEndian.Uint64(k.key[8:]) ^ t.secret ^ uint64(k.crawl)
	return uint32(h*0x9e3779b97f4a7c15>>32) | 1<<31
}

// home returns where the slot of a hash is if no other is there.
func (t *placeTable) home(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

// after returns the slot after another.
func (t *placeTable) after(i int) int { return (i + 1) & (len(t.slots) - 1) }

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
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	i, found := t.slot(&e.placeKey)
	if found {
		*t.entry(t.slots[i]) = placeEntry{}
	} else {
		t.used++
	}
	t.slots[i] = placeSlot(t.hash(&e.placeKey))<<32 | placeSlot(uint32(t.end))
	t.push(e)
}

// fetch reads the slot of a URL that is put soon, so that its cache miss overlaps with others.
func (t *placeTable) fetch(k *placeKey) {
	if len(t.slots) > 0 {
		t.fetched ^= t.slots[t.home(t.hash(k))]
	}
}

// remove removes the place of a URL, and moves the slots that had to pass by its slot.
func (t *placeTable) remove(k placeKey) {
	i, found := t.slot(&k)
	if !found {
		return
	}
	*t.entry(t.slots[i]) = placeEntry{}
	t.slots[i] = 0
	t.used--
	mask := len(t.slots) - 1
	for j := t.after(i); t.slots[j] != 0; j = t.after(j) {
		if home := t.home(t.slots[j].hash()); (j-home)&mask >= (j-i)&mask {
			t.slots[i], t.slots[j] = t.slots[j], 0
			i = j
		}
	}
}

// grow doubles the slots. The old slots are read in their order: those of the new slots are then
// written in two passes side by side, so that few of them are cache misses.
func (t *placeTable) grow() {
	old := t.slots
	t.slots = make([]placeSlot, max(128, 2*len(old)))
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := t.home(s.hash())
		for t.slots[i] != 0 {
			i = t.after(i)
		}
		t.slots[i] = s
	}
}
