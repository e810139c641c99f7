package seenindex

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sort"
	"sync"

	"github.com/firstseen/firstseen/hashkey"
)

// LeastPerKey is the least memory that a fingerprint takes, in bytes: 8 in a segment that is 85 % full.
const LeastPerKey = 8 / 0.85

// Odds returns how many of n different URLs, added in turn to an index of fingerprints, are
// expected to be taken for one seen before, and so lost: n²/2 pairs, each alike by chance in the
// 16 bits of the segment and the 64 of the fingerprint.
//
//	n       lost
//	1e6     4e-13
//	1e8     4e-9
//	1e9     4e-7
//	1e10    4e-5
func Odds(n float64) float64 { return n * n / 2 / math.Exp2(16+64) }

// smallMax is how many keys are kept whole in a map before an index becomes a
// table: below it segments would be nearly empty.
const smallMax = 1 << 16

// Index is a set of keys.
type Index struct {
	print  func(k *Key) uint64
	small  map[Key]struct{} // nil when the tables are used
	halves [2]*table        // by the first bit of a key
}

// New returns an empty index. Two indexes with the same secret return the same false positives.
func New(b *[SecretLen]byte) *Index {
	s := newSecret(b)
	return &Index{print: func(k *Key) uint64 { return max(s.hash(halves(k)), 1) }, small: map[Key]struct{}{}}
}

// grow turns the map into tables.
func (x *Index) grow() {
	x.halves = [2]*table{newTable(x.print), newTable(x.print)}
	for k := range x.small {
		x.half(&k).add(&k)
	}
	x.small = nil
}

func (x *Index) half(k *Key) *table { return x.halves[k[0]>>7] }

// Reserve makes room for n keys in all, in the segments of the keys from lo to hi, so that
// adding those needs no growing.
func (x *Index) Reserve(n int64, lo, hi *Key) {
	if n <= smallMax {
		return
	}
	if x.small != nil {
		x.grow()
	}
	if x.half(lo) == x.half(hi) {
		x.half(lo).reserve(n, segmentOf(lo), segmentOf(hi))
		return
	}
	x.half(lo).reserve(n, segmentOf(lo), segments/2-1)
	x.half(hi).reserve(n, 0, segmentOf(hi))
}

// Add records k and reports whether it was new.
func (x *Index) Add(k *Key) bool {
	if x.small == nil {
		return x.half(k).add(k)
	}
	n := len(x.small)
	x.small[*k] = struct{}{}
	if len(x.small) == n {
		return false
	}
	if n >= smallMax {
		x.grow()
	}
	return true
}

// together is from how many keys on both halves of the index are used at once.
const together = 512

// AddSorted records keys[i] for each i of order, and sets fresh[i] if it was
// new. The order must be that of the first two bytes of the keys.
func (x *Index) AddSorted(keys []Key, order []uint32, fresh []bool) {
	if x.small != nil {
		for _, i := range order {
			fresh[i] = x.Add(&keys[i])
		}
		return
	}
	n := sort.Search(len(order), func(i int) bool { return keys[order[i]][0]>>7 == 1 })
	if len(order) < together {
		x.halves[0].addSorted(keys, order[:n], fresh)
		x.halves[1].addSorted(keys, order[n:], fresh)
		return
	}
	var upper sync.WaitGroup
	upper.Go(func() { x.halves[1].addSorted(keys, order[n:], fresh) })
	x.halves[0].addSorted(keys, order[:n], fresh)
	upper.Wait()
}

// HasAll sets has[i] to whether keys[i] was recorded, for each i of order. It is fastest if the order is that of
// the first two bytes of the keys.
func (x *Index) HasAll(keys []Key, order []uint32, has []bool) {
	if x.small == nil {
		x.hasAll(keys, order, has)
		return
	}
	for _, i := range order {
		_, has[i] = x.small[keys[i]]
	}
}

// Has reports whether k was recorded.
func (x *Index) Has(k *Key) bool {
	if x.small == nil {
		return x.half(k).has(k)
	}
	_, ok := x.small[*k]
	return ok
}

// Remove forgets k. Removing a key that was never added may forget another.
func (x *Index) Remove(k *Key) {
	if x.small == nil {
		x.half(k).remove(k)
	}
	delete(x.small, *k)
}

// Bytes returns the memory the index takes.
func (x *Index) Bytes() int64 {
	if x.small == nil {
		return x.halves[0].bytes() + x.halves[1].bytes()
	}
	return int64(len(x.small)) * 40 // about, for a Go map of 16-byte keys
}

// Close releases the memory. The index must not be used afterwards.
func (x *Index) Close() {
	if x.small == nil {
		x.halves[0].mem.close()
		x.halves[1].mem.close()
	}
	x.small, x.halves = map[Key]struct{}{}, [2]*table{}
}

// SecretLen is the length in bytes of a secret.
const SecretLen = 48

// Key is the key of a URL: the first 16 bytes of a SHA-256.
type Key = hashkey.UrlShortHash

// secret is three 128-bit multipliers, high word first.
type secret [6]uint64

func newSecret(b *[SecretLen]byte) (s secret) {
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return s
}

// hash is multilinear hashing (Lemire and Kaser, "Strongly universal string
// hashing is fast"): the high half of s0 + s1·a + s2·b modulo 2^128, for
// the halves a and b of a key. For a random secret the hashes of two different
// keys are independent and uniform.
func (s *secret) hash(a, b uint64) uint64 {
	h1, l1 := bits.Mul64(s[3], a)
	h2, l2 := bits.Mul64(s[5], b)
	lo, c1 := bits.Add64(s[1], l1, 0)
	_, c2 := bits.Add64(lo, l2, 0)
	return s[0] + h1 + s[2]*a + h2 + s[4]*b + c1 + c2
}

func halves(k *Key) (a, b uint64) {
	return binary.BigEndian.Uint64(k[:8]), binary.BigEndian.Uint64(k[8:])
}

// segmentOf returns the segment of a key in its half of the index: the other bits of
// its first two bytes.
func segmentOf(k *Key) uint32 { return uint32(k[0]&0x7f)<<8 | uint32(k[1]) }

// segments is how many there are, in both halves.
const segments = 1 << 16
