package seenindex

import (
	"encoding/binary"
	"math/bits"

	"github.com/firstseen/firstseen/hashkey"
)

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
