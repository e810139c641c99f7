package seenindex

import "math/bits"

// Filter says "surely not recorded" or "perhaps", in 12 bits a key: a split
// block Bloom filter (Putze, Sanders and Singler 2007; the block is the one of
// Parquet's format: 256 bits, one bit set in each 32-bit word). With as many keys
// as it was made for, 5 in 1,000 unknown keys are called "perhaps"; with
// twice as many, 50.
//
// Blocks are in order of the keys, so sorted batches walk memory in order.
type Filter struct {
	secret secret
	blocks []block
	n, cap int64
}

// block has one bit of each key in each word.
type block [8]uint32

// salts are odd multipliers, one for each word of a block.
var salts = [8]uint32{
	0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5, 0xb55a4f09,
}

// FilterBytes is the memory of a filter for n keys.
func FilterBytes(n int64) int64 { return (n*12/256 + 1) * 32 }

// NewFilter returns a filter for n keys.
func NewFilter(n int64, s *[SecretLen]byte) *Filter {
	return &Filter{secret: newSecret(s), blocks: make([]block, n*12/256+1), cap: n}
}

// place returns the block of k and the hash that its bits come from.
func (f *Filter) place(k *Key) (*block, uint32) {
	a, b := halves(k)
	at, _ := bits.Mul64(a, uint64(len(f.blocks)))
	return &f.blocks[at], uint32(f.secret.hash(a, b) >> 32)
}

// Add records k.
func (f *Filter) Add(k *Key) {
	b, h := f.place(k)
	for i, salt := range salts {
		b[i] |= 1 << (h * salt >> 27)
	}
	f.n++
}

// Has says whether k may have been recorded; false is sure.
func (f *Filter) Has(k *Key) bool {
	b, h := f.place(k)
	for i, salt := range salts {
		if b[i]&(1<<(h*salt>>27)) == 0 {
			return false
		}
	}
	return true
}

// Full says whether it holds as many keys as it was made for.
func (f *Filter) Full() bool { return f.n >= f.cap }

// Bytes returns its memory.
func (f *Filter) Bytes() int64 { return int64(len(f.blocks)) * 32 }
