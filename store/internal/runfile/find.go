package runfile

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/firstseen/firstseen/store/internal/osfile"
)

// ahead is how many keys' entries, and then buckets, are fetched before the first is
// looked at. The fetches are independent loads that the processor runs at once, where
// a loop of look-ups would wait for memory at each.
const ahead = 64

// span is a bucket: its keys are data[lo:hi] of the run.
type span struct {
	bucket uint64
	lo, hi int64
	sum    uint32
}

// Find sets known[i] for each i of order whose key is in the run. It is fastest
// when the order is that of the keys. Keys that are known already are skipped.
func (r *Run) Find(keys []Key, order []uint32, known []bool) error {
	return r.File.guarded(func() { r.find(keys, order, known, false) })
}

// FindCold is Find for a file that the page cache may lack. It asks for the pages of many keys before
// it reads the first, so that it does not wait for one after the other.
func (r *Run) FindCold(keys []Key, order []uint32, known []bool) error {
	return r.File.guarded(func() { r.find(keys, order, known, true) })
}

func (r *Run) find(keys []Key, order []uint32, known []bool, cold bool) {
	var at [ahead]uint32
	var entries [ahead]int64
	var spans [ahead]span
	for len(order) > 0 {
		n := 0
		for ; n < ahead && len(order) > 0; order = order[1:] {
			if i := order[0]; !known[i] {
				at[n] = i
				entries[n] = r.entryAt(bucketOf(&keys[i], r.buckets()))
				n++
			}
		}
		if cold {
			for _, e := range entries[:n] {
				r.ask(e, e+entryLen)
			}
		}
		r.fetchEntries(entries[:n])
		some := 0
		for j, i := range at[:n] {
			b := bucketOf(&keys[i], r.buckets())
			if e := r.entry(b, entries[j]); e.mayHave(&keys[i]) {
				at[some], spans[some] = i, r.span(b, e)
				some++
			}
		}
		if cold {
			for _, s := range spans[:some] {
				r.ask(s.lo, s.hi)
			}
		}
		r.fetchBuckets(spans[:some])
		for j, i := range at[:some] {
			known[i] = search(r.bucket(spans[j]), &keys[i])
		}
	}
}

func (r *Run) buckets() uint64 { return uint64(r.Place.Buckets) }

// page returns where the keys of a page begin and end; its entries follow.
func (r *Run) page(p uint64) (lo, hi int64) {
	lo = r.before[p]*int64(keyLen) + int64(p)*pageBuckets*entryLen
	return lo, lo + (r.before[p+1]-r.before[p])*int64(keyLen)
}

// entryAt returns where the entry of bucket b is.
func (r *Run) entryAt(b uint64) int64 {
	_, end := r.page(b / pageBuckets)
	return end + int64(b%pageBuckets)*entryLen
}

// entry is what the index has of a bucket.
type entry []byte

// entry returns the entry of bucket b, which is at a place and must be as it was written.
func (r *Run) entry(b uint64, at int64) entry {
	e := r.data[at:][:entryLen]
	check(r.seed.sum(e[:entryLen-4], b) == binary.BigEndian.Uint32(e[entryLen-4:]))
	return e
}

// mayHave reports false if k is not in the bucket. It errs for one other key in 40.
func (e entry) mayHave(k *Key) bool {
	f := e[8 : 8+filterLen]
	for h, i := binary.BigEndian.Uint64(k[8:]), 0; i < 4; h, i = h>>16, i+1 {
		if at := filterBit(h); f[at>>3]>>(at&7)&1 == 0 {
			return false
		}
	}
	return true
}

// filterBit returns the bit of a filter that the low 16 bits of h select.
func filterBit(h uint64) uint64 { return h & 0xffff * (filterLen * 8) >> 16 }

func addToFilter(f *[filterLen]byte, k []byte) {
	for h, i := binary.BigEndian.Uint64(k[8:]), 0; i < 4; h, i = h>>16, i+1 {
		at := filterBit(h)
		f[at>>3] |= 1 << (at & 7)
	}
}

// span returns the place of bucket b, whose entry is e, which must be in the page.
func (r *Run) span(b uint64, e entry) span {
	lo, end := r.page(b / pageBuckets)
	s := span{b, lo + int64(binary.BigEndian.Uint32(e))*int64(keyLen), end, binary.BigEndian.Uint32(e[4:])}
	if b++; b%pageBuckets != 0 && b < r.buckets() {
		s.hi = lo + int64(binary.BigEndian.Uint32(r.data[r.entryAt(b):]))*int64(keyLen)
	}
	check(s.lo <= s.hi && s.hi <= end)
	return s
}

// fetchEntries reads a byte of each entry. Nothing else is in this loop, so that the
// processor gets to many entries while it waits for the first.
func (r *Run) fetchEntries(at []int64) {
	var sum byte
	for _, e := range at {
		sum |= r.data[e]
	}
	sink(sum)
}

// fetchBuckets is fetchEntries for buckets.
func (r *Run) fetchBuckets(spans []span) {
	var sum byte
	for _, s := range spans {
		if s.lo < s.hi {
			sum |= r.data[s.lo] | r.data[s.hi-1]
		}
	}
	sink(sum)
}

// sink keeps the compiler from removing the loads of its argument.
//
//go:noinline
func sink(byte) {}

// ask asks for the pages of the run's bytes lo to hi. They are read while the caller goes on.
func (r *Run) ask(lo, hi int64) { osfile.WillNeed(r.File.data, r.Place.Offset+lo, r.Place.Offset+hi) }

// bucket returns the keys of a span, which must be as they were written.
func (r *Run) bucket(s span) []byte {
	b := r.data[s.lo:s.hi]
	check(r.seed.sum(b, s.bucket) == s.sum)
	return b
}

// load returns the place and the keys of bucket b, both checked.
func (r *Run) load(b uint64) (span, []byte) {
	s := r.span(b, r.entry(b, r.entryAt(b)))
	return s, r.bucket(s)
}

// few is how many keys are compared in turn, without bisection.
const few = 32

// search reports whether k is among ascending keys.
func search(b []byte, k *Key) bool {
	for len(b) > few*keyLen {
		half := len(b) / keyLen / 2 * keyLen
		if bytes.Compare(b[half:][:keyLen], k[:]) <= 0 {
			b = b[half:]
		} else {
			b = b[:half]
		}
	}
	want, rest := binary.BigEndian.Uint64(k[:]), binary.BigEndian.Uint64(k[8:])
	for ; len(b) >= keyLen; b = b[keyLen:] {
		switch v := binary.BigEndian.Uint64(b); {
		case v > want:
			return false
		case v == want && binary.BigEndian.Uint64(b[8:]) == rest:
			return true
		}
	}
	return false
}

// bucketOf returns the bucket of k among m.
func bucketOf(k *Key, m uint64) uint64 {
	b, _ := bits.Mul64(binary.BigEndian.Uint64(k[:]), m)
	return b
}

// CountUpTo returns how many keys are not greater than k.
func (r *Run) CountUpTo(k *Key) (n int64, err error) {
	err = r.File.guarded(func() {
		at := bucketOf(k, r.buckets())
		s, b := r.load(at)
		lo, _ := r.page(at / pageBuckets)
		for n = r.before[at/pageBuckets] + (s.lo-lo)/int64(keyLen); len(b) > 0 && bytes.Compare(b[:keyLen], k[:]) <= 0; b = b[keyLen:] {
			n++
		}
	})
	return n, err
}
