package hasheduri

import (
	"bytes"
	"encoding/binary"
	mathbits "math/bits"
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
// all begin alike would make it slow, and so it stops at a bound and sorts by halves.
func (d *digests) sortBuckets() {
	for b := range len(d.starts) - 1 {
		d.sort(int(d.starts[b]), int(d.starts[b+1]))
	}
}

func (d *digests) less(i, j int) bool { return bytes.Compare(d.at(i), d.at(j)) < 0 }

func (d *digests) sort(from, to int) {
	for to-from > 4*perBucket {
		// Quicksort around the middle one; the smaller side first, so the stack stays low.
		swap(d.at(from), d.at(from+(to-from)/2))
		middle := from
		for i := from + 1; i < to; i++ {
			if d.less(i, from) {
				middle++
				swap(d.at(middle), d.at(i))
			}
		}
		swap(d.at(from), d.at(middle))
		if middle-from < to-middle {
			d.sort(from, middle)
			from = middle + 1
		} else {
			d.sort(middle+1, to)
			to = middle
		}
	}
	for i := from + 1; i < to; i++ {
		for j := i; j > from && d.less(j, j-1); j-- {
			swap(d.at(j), d.at(j-1))
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

// has tells whether a digest of the right size is there.
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
