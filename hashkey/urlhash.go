package hashkey

import (
	"crypto/sha256"
	"encoding/hex"
)

// UrlHash is the SHA-256 of a canonical form, its 32 bytes in digest order.
type UrlHash [32]byte

// UrlShortHash is the first 16 bytes of a UrlHash.
type UrlShortHash [16]byte

// UrlVeryShortHash is the first 8 bytes of a UrlHash.
type UrlVeryShortHash [8]byte

// Sum returns the hash of a canonical form.
func Sum(canonical []byte) UrlHash { return sha256.Sum256(canonical) }

// SumShort returns the short hash of a canonical form.
func SumShort(canonical []byte) UrlShortHash { return Sum(canonical).Short() }

// Short returns the first 16 bytes.
func (h UrlHash) Short() UrlShortHash { return UrlShortHash(h[:16]) }

// VeryShort returns the first 8 bytes.
func (h UrlHash) VeryShort() UrlVeryShortHash { return UrlVeryShortHash(h[:8]) }

// VeryShort returns the first 8 bytes.
func (h UrlShortHash) VeryShort() UrlVeryShortHash { return UrlVeryShortHash(h[:8]) }

// Hex returns 32 lower-case hexadecimal digits.
func (h UrlShortHash) Hex() string { return hex.EncodeToString(h[:]) }
