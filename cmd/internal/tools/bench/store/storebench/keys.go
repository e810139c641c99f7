// Package storebench measures any seen-set on one stream of keys, and checks
// every answer against the truth.
//
// The n-th key is a hash of n, as the key of a URL is a hash of its text. So every
// program in a comparison gets the same stream, and a billion keys need no memory.
package storebench

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/hashkey"
)

// Key returns the n-th key.
func Key(n uint64) (k hashkey.UrlShortHash) {
	binary.BigEndian.PutUint64(k[:], mix(n))
	binary.BigEndian.PutUint64(k[8:], mix(^n))
	return k
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
