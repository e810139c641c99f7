package uniq

import (
	"encoding/binary"
	"hash/maphash"
)

// recentBits of a hash choose a slot: 2 MiB for a worker.
const recentBits = 18

// recent remembers the texts of URLs, each as a mark in the one slot it may take: a newer one
// replaces it. So a text may be forgotten, and is never made up.
type recent struct {
	seed  maphash.Seed
	slots []uint64
}

func newRecent(seed maphash.Seed) *recent { return &recent{seed, make([]uint64, 1<<recentBits)} }

// place returns the slot of a text and its mark there: what the slot does not show of its hash,
// and in the other bits its length and last bytes, which a hash of equal value may not share.
func (r *recent) place(text []byte) (slot uint32, mark uint64) {
	h := maphash.Bytes(r.seed, text)
	tail := uint64(len(text))
	if len(text) >= 8 {
		tail ^= binary.LittleEndian.Uint64(text[len(text)-8:])
	}
	tail = tail * 0x9e3779b97f4a7c15 >> (64 - recentBits)
	return uint32(h >> (64 - recentBits)), h<<recentBits | tail
}
