package hasheduri

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"sort"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// digests are sorted digests of one size, one after another: nothing beside them takes memory. As digests spread evenly, the
// first bits of one say about where it is, so that a look-up compares a handful that lie together, not one in each of twenty
// places as a search by halves would.
type digests struct {
	size int
	flat []byte
}

// newDigests sorts digests, and drops repeats. It keeps flat.
func newDigests(flat []byte, size int) digests {
	d := digests{size, flat}
	sort.Sort(&d)
	kept := 0
	for i := range d.Len() {
		if i == 0 || !bytes.Equal(d.at(i), d.at(kept-1)) {
			copy(d.at(kept), d.at(i))
			kept++
		}
	}
	d.flat = d.flat[:kept*size]
	return d
}

func (d *digests) at(i int) []byte { return d.flat[i*d.size : (i+1)*d.size] }

// Len, Less and Swap are for sort.
func (d *digests) Len() int           { return len(d.flat) / d.size }
func (d *digests) Less(i, j int) bool { return bytes.Compare(d.at(i), d.at(j)) < 0 }
func (d *digests) Swap(i, j int) {
	a, b := d.at(i), d.at(j)
	for k := range a {
		a[k], b[k] = b[k], a[k]
	}
}

// has reports whether a digest of the right size is there. It looks where the first bits say, then ever farther to both sides
// until the digest must be between: a crafted list, whose digests all begin alike, takes as many steps as a search by halves. A
// private algorithm may have digests of fewer than 4 bytes.
func (d *digests) has(digest []byte) bool {
	var first [4]byte
	copy(first[:], digest)
	n := d.Len()
	from := int(uint64(binary.BigEndian.Uint32(first[:])) * uint64(n) >> 32)
	to := from
	for step := 4; from > 0 && bytes.Compare(d.at(from), digest) > 0; step *= 4 {
		from = max(0, from-step)
	}
	for step := 4; to < n && bytes.Compare(d.at(to), digest) < 0; step *= 4 {
		to = min(n, to+step)
	}
	i := from + sort.Search(to-from, func(i int) bool { return bytes.Compare(d.at(from+i), digest) >= 0 })
	return i < n && bytes.Equal(d.at(i), digest)
}

// Algorithms are private hash algorithms by name. The zero value has none; md5, sha1 and
// x-sha256 are known without it. It does not change, so it may be shared.
type Algorithms struct{ private map[string]func() hash.Hash }

// With returns the algorithms and one more under a private name, which must begin with
// "x-" (draft, section 3) and is kept in lower case. It fails with [ErrBadAlgorithm] for
// another name, and for one that is taken.
func (a Algorithms) With(name string, newHash func() hash.Hash) (Algorithms, error) {
	name = strings.ToLower(name)
	_, taken := a.private[name]
	if !isName(name) || !strings.HasPrefix(name, "x-") || name == "x-" || name == "x-sha256" || taken {
		return a, fault.As(ErrBadAlgorithm, "cannot register algorithm; got %q; want \"x-\" and letters, digits, \"-\" and \".\", a new name", name)
	}
	private := maps.Clone(a.private)
	if private == nil {
		private = map[string]func() hash.Hash{}
	}
	private[name] = newHash
	return Algorithms{private}, nil
}

// size is that of an algorithm's digests, in bytes.
func (a Algorithms) size(algorithm string) (int, error) {
	var room [64]byte
	digest, err := a.appendDigest(room[:0], algorithm, nil)
	return len(digest), err
}

// appendDigest appends the digest of data to dst. It does not allocate for the
// algorithms built in if dst has room.
func (a Algorithms) appendDigest(dst []byte, algorithm string, data []byte) ([]byte, error) {
	switch algorithm {
	case "md5":
		sum := md5.Sum(data)
		return append(dst, sum[:]...), nil
	case "sha1":
		sum := sha1.Sum(data)
		return append(dst, sum[:]...), nil
	case "x-sha256":
		sum := sha256.Sum256(data)
		return append(dst, sum[:]...), nil
	}
	newHash, ok := a.private[algorithm]
	if !ok {
		return dst, fault.As(ErrUnknownAlgorithm, "cannot hash; got algorithm %q; want md5, sha1, x-sha256 or one that was given", algorithm)
	}
	h := newHash()
	h.Write(data)
	return h.Sum(dst), nil
}
