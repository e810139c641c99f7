package hasheduri

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	mathbits "math/bits"
	"sort"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// digests are sorted digests of one size, one after another, and for each value of their
// first bits where those that begin so are. As digests spread evenly, a look-up compares
// about six, which lie together.
type digests struct {
	size   int
	shift  int // how far right to shift the first 4 bytes, to get the number of a bucket
	flat   []byte
	starts []uint32 // bucket b is entries starts[b] to starts[b+1]
}

// perBucket is the mean number of digests in a bucket, at most.
const perBucket = 8

// newDigests sorts digests, and drops repeats. It keeps flat.
func newDigests(flat []byte, size int) digests {
	d := digests{size: size, flat: flat}
	n := d.len()
	width := min(mathbits.Len(uint(n/perBucket)), 32)
	d.shift = 32 - width
	d.starts = make([]uint32, 1<<width+1)
	for i := range n {
		d.starts[d.bucket(d.at(i))+1]++
	}
	for b := range len(d.starts) - 1 {
		d.starts[b+1] += d.starts[b]
	}
	d.distribute()
	d.sortBuckets()
	d.dropRepeats()
	return d
}

func (d *digests) len() int        { return len(d.flat) / d.size }
func (d *digests) at(i int) []byte { return d.flat[i*d.size : (i+1)*d.size] }

// bucket is the number that the first bits of a digest make. A private algorithm may
// have digests of fewer than 4 bytes.
func (d *digests) bucket(digest []byte) int {
	var first [4]byte
	copy(first[:], digest)
	return int(uint64(binary.BigEndian.Uint32(first[:])) >> d.shift)
}

// distribute brings each digest into its bucket, in place: it takes the first one that is
// not at home and swaps it home, until one comes back that belongs here.
func (d *digests) distribute() {
	next := append([]uint32(nil), d.starts[:len(d.starts)-1]...)
	for b := range next {
		for next[b] < d.starts[b+1] {
			here := d.at(int(next[b]))
			home := d.bucket(here)
			if home != b {
				swap(here, d.at(int(next[home])))
			}
			next[home]++
		}
	}
}

func swap(a, b []byte) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// sortBuckets sorts by insertion, the best way for a handful. A crafted list whose digests
// all begin alike, or are all one, would make it slow, and so the library sorts many.
func (d *digests) sortBuckets() {
	for b := range len(d.starts) - 1 {
		s := span{d, int(d.starts[b]), int(d.starts[b+1])}
		if s.Len() > 4*perBucket {
			sort.Sort(s)
		} else {
			s.insertionSort()
		}
	}
}

// span is the digests from one to another, for sort.
type span struct {
	*digests
	from, to int
}

func (s span) Len() int           { return s.to - s.from }
func (s span) Less(i, j int) bool { return bytes.Compare(s.at(s.from+i), s.at(s.from+j)) < 0 }
func (s span) Swap(i, j int)      { swap(s.at(s.from+i), s.at(s.from+j)) }

func (s span) insertionSort() {
	for i := 1; i < s.Len(); i++ {
		for j := i; j > 0 && s.Less(j, j-1); j-- {
			s.Swap(j, j-1)
		}
	}
}

// dropRepeats closes the gaps that repeats leave.
func (d *digests) dropRepeats() {
	kept := 0
	for b := range len(d.starts) - 1 {
		from, to := int(d.starts[b]), int(d.starts[b+1])
		d.starts[b] = uint32(kept)
		for i := from; i < to; i++ {
			if i > from && bytes.Equal(d.at(i), d.at(kept-1)) {
				continue
			}
			copy(d.at(kept), d.at(i))
			kept++
		}
	}
	d.starts[len(d.starts)-1] = uint32(kept)
	d.flat = d.flat[:kept*d.size]
}

// has reports whether a digest of the right size is there.
func (d *digests) has(digest []byte) bool {
	b := d.bucket(digest)
	from, to := int(d.starts[b]), int(d.starts[b+1])
	for to-from > 4*perBucket {
		if middle := (from + to) / 2; bytes.Compare(digest, d.at(middle)) < 0 {
			to = middle
		} else {
			from = middle
		}
	}
	for i := from; i < to; i++ {
		if bytes.Equal(d.at(i), digest) {
			return true
		}
	}
	return false
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
