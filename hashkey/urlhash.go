package hashkey

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// UrlHash is the SHA-256 of a canonical form, its 32 bytes in digest order.
// It is comparable with ==, and fit as a map key.
type UrlHash [32]byte

// UrlShortHash is the first 16 bytes of a UrlHash: the key of a seen-set.
type UrlShortHash [16]byte

// UrlVeryShortHash is the first 8 bytes of a UrlHash: enough to pick a bucket, too
// short to identify URLs.
type UrlVeryShortHash [8]byte

// Sum returns the hash of a canonical form. It does not canonicalize: two variants of one URL
// have two hashes.
func Sum(canonical []byte) UrlHash { return sha256.Sum256(canonical) }

// SumString is [Sum] of a string, without a copy of it.
func SumString(canonical string) UrlHash {
	return Sum(zerocopy.Bytes(canonical))
}

// SumShort returns the short hash of a canonical form.
func SumShort(canonical []byte) UrlShortHash { return Sum(canonical).Short() }

// SumShortString is [SumShort] of a string, without a copy of it.
func SumShortString(canonical string) UrlShortHash { return SumString(canonical).Short() }

// UrlHashCrate returns what release 0.1.0 of the url-hash crate computes: the first
// 32 bytes of the SHA-384, though its documentation says SHA-256. It has nothing
// in common with [Sum] of the same bytes; use it only to compare with hashes that the crate computed.
func UrlHashCrate(canonical []byte) UrlHash {
	digest := sha512.Sum384(canonical)
	return UrlHash(digest[:32])
}

// Short returns the first 16 bytes.
func (h UrlHash) Short() UrlShortHash { return UrlShortHash(h[:16]) }

// VeryShort returns the first 8 bytes.
func (h UrlHash) VeryShort() UrlVeryShortHash { return UrlVeryShortHash(h[:8]) }

// VeryShort returns the first 8 bytes.
func (h UrlShortHash) VeryShort() UrlVeryShortHash { return UrlVeryShortHash(h[:8]) }

// StartsWith reports whether p is the short form of h.
func (h UrlHash) StartsWith(p UrlShortHash) bool { return h.Short() == p }

// StartsWithJust reports whether p is the very short form of h.
func (h UrlHash) StartsWithJust(p UrlVeryShortHash) bool { return h.VeryShort() == p }

// StartsWith reports whether p is the very short form of h.
func (h UrlShortHash) StartsWith(p UrlVeryShortHash) bool { return h.VeryShort() == p }

// Compare orders hashes by their bytes, as the hexadecimal forms sort: -1, 0 or 1.
// Sort with slices.SortFunc(hashes, UrlHash.Compare).
func (h UrlHash) Compare(o UrlHash) int { return bytes.Compare(h[:], o[:]) }

// Compare orders hashes by their bytes; see [UrlHash.Compare].
func (h UrlShortHash) Compare(o UrlShortHash) int { return bytes.Compare(h[:], o[:]) }

// Compare orders hashes by their bytes; see [UrlHash.Compare].
func (h UrlVeryShortHash) Compare(o UrlVeryShortHash) int { return bytes.Compare(h[:], o[:]) }

// Less reports whether h is before o. It is Compare for loops over millions of sorted hashes.
func (h *UrlShortHash) Less(o *UrlShortHash) bool {
	if a, b := binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(o[:8]); a != b {
		return a < b
	}
	return binary.BigEndian.Uint64(h[8:]) < binary.BigEndian.Uint64(o[8:])
}

var whatwg = canon.WHATWG()

// SumURL parses a URL of any scheme by the URL Standard, and returns the hash of its
// canonical form, fragment included, as the document of the url-hash crate describes it.
// If the URL cannot be parsed, the error wraps canon.ErrURL or canon.ErrTooLong.
//
// For the seen-set of a crawler use canon.Qiita and [SumShort] instead: they recognize more
// variants of a URL as the same page.
func SumURL(url string) (UrlHash, error) {
	canonical, err := whatwg.Canonicalize(url)
	if err != nil {
		return UrlHash{}, fmt.Errorf("cannot hash URL: %w", err)
	}
	return SumString(canonical), nil
}

// SumURLCrate is [SumURL] with [UrlHashCrate]: what release 0.1.0 of the crate returns.
func SumURLCrate(url string) (UrlHash, error) {
	canonical, err := whatwg.Canonicalize(url)
	if err != nil {
		return UrlHash{}, fmt.Errorf("cannot hash URL: %w", err)
	}
	return UrlHashCrate([]byte(canonical)), nil
}

// CollisionOdds returns the probability, 0 to 1, that among n different inputs at least two share a
// hash of the given width in bits. It is the birthday bound 1 - exp(-n(n-1)/2^(bits+1)), with a
// relative error of about n/2^bits.
func CollisionOdds(n uint64, bits int) float64 {
	return -math.Expm1(-ExpectedCollisions(n, bits))
}

// ExpectedCollisions returns the mean number of pairs that share a hash of the given
// width in bits among n different inputs: n(n-1)/2^(bits+1). While it is small it is
// also the mean number of URLs a crawler that trusts the hash would lose.
func ExpectedCollisions(n uint64, bits int) float64 {
	if n < 2 {
		return 0
	}
	return math.Ldexp(float64(n)*float64(n-1), -bits-1)
}
