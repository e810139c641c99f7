package runfile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// ahead is how many keys' buckets are fetched before the first is looked at. The
// fetches are independent loads that the processor runs at once, where a loop of
// look-ups would wait for memory at each.
const ahead = 32

// span is the keys of a bucket, as the index has it.
type span struct{ lo, hi, sum uint32 }

// Find sets known[i] for each i of order whose key is in the run. It is fastest
// when the order is that of the keys. Keys that are known already are passed
// over.
func (r *Run) Find(keys []Key, order []uint32, known []bool) error {
	return r.File.guarded(func() error {
		var at [ahead]uint32
		var spans [ahead]span
		for len(order) > 0 {
			n := 0
			for ; n < ahead && len(order) > 0; order = order[1:] {
				if i := order[0]; !known[i] {
					at[n] = i
					spans[n] = r.span(bucketOf(&keys[i], r.m))
					n++
				}
			}
			if !r.fetch(spans[:n]) {
				return ErrDamaged
			}
			for j, i := range at[:n] {
				bucket, ok := r.bucket(spans[j])
				if !ok {
					return ErrDamaged
				}
				known[i] = search(bucket, &keys[i])
			}
		}
		return nil
	})
}

// Has says whether k is in the run.
func (r *Run) Has(k *Key) (bool, error) {
	var known [1]bool
	err := r.Find([]Key{*k}, []uint32{0}, known[:])
	return known[0], err
}

// span returns the entry of bucket b, which follows that of the one before it.
func (r *Run) span(b uint64) span {
	e := r.index[b*entryLen:][:2*entryLen]
	return span{binary.BigEndian.Uint32(e), binary.BigEndian.Uint32(e[entryLen:]), binary.BigEndian.Uint32(e[entryLen+4:])}
}

// fetch reads the beginning of each bucket. It returns false if one is nowhere
// in the file. Nothing else is in this loop, so that the processor gets to many
// buckets while it waits for the first.
func (r *Run) fetch(spans []span) bool {
	var sum byte
	for _, s := range spans {
		if s.lo > s.hi || int64(s.hi) > r.n {
			return false
		}
		if s.lo < s.hi {
			sum |= r.keys[int64(s.lo)*int64(keyLen)]
		}
	}
	return sum|1 != 0 // always: so that the loads are not optimised away
}

// bucket returns the keys of a span that fetch let pass, if they are as they
// were written.
func (r *Run) bucket(s span) ([]byte, bool) {
	b := r.keys[int64(s.lo)*int64(keyLen) : int64(s.hi)*int64(keyLen)]
	return b, crc32.Checksum(b, castagnoli) == s.sum
}

// few is how many keys are looked at one after the other.
const few = 32

// search says whether k is among ascending keys.
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
	err = r.File.guarded(func() error {
		s := r.span(bucketOf(k, r.m))
		if !r.fetch([]span{s}) {
			return ErrDamaged
		}
		b, ok := r.bucket(s)
		if !ok {
			return ErrDamaged
		}
		for n = int64(s.lo); len(b) > 0 && bytes.Compare(b[:keyLen], k[:]) <= 0; b = b[keyLen:] {
			n++
		}
		return nil
	})
	return n, err
}
