package pebblestore

import (
	"bytes"
	"slices"
	"sync"

	"github.com/firstseen/firstseen/store"
)

// sorter orders the keys of a batch as the index and Pebble have them.
type sorter struct {
	order, spare []uint32
	sorted       sorted
	see          seeOp // the step it is used for
}

// sorted is a batch in its own memory.
type sorted struct {
	keys  []store.Key
	fresh []bool   // the answers
	all   []uint32 // 0, 1, 2 …
}

// take makes a sorted copy of keys. The answers to it go to the caller by give.
func (s *sorter) take(keys []store.Key) *sorted {
	order, n := s.sort(keys), len(keys)
	b := &s.sorted
	if cap(b.keys) < n {
		b.keys, b.fresh, b.all = make([]store.Key, n), make([]bool, n), indexes(n)
	}
	b.keys, b.fresh, b.all = b.keys[:n], b.fresh[:n], b.all[:n]
	for to, from := range order {
		b.keys[to] = keys[from]
	}
	return b
}

// give brings the answers to the last take in the order of its keys.
func (s *sorter) give(fresh []bool) {
	for from, to := range s.order[:len(s.sorted.keys)] {
		fresh[to] = s.sorted.fresh[from]
	}
}

// damaged returns the error for keys of the last take that could not be looked up.
func (s *sorter) damaged(d *damagedKeys) *store.DamagedKeys {
	e := &store.DamagedKeys{Err: d.err}
	for _, i := range d.at {
		e.At = append(e.At, int(s.order[i]))
	}
	slices.Sort(e.At)
	return e
}

// indexes returns the numbers from 0 to n-1.
func indexes(n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

var sorters = sync.Pool{New: func() any { return new(sorter) }}

// put puts s back into the pool, unless the step ended otherwise than by its
// answer: the committer still reads the weight and the crawl of one that was withdrawn.
func (s *sorter) put(err error) {
	if err == nil {
		sorters.Put(s)
	}
}

// sort returns the indexes of keys in order of the keys' first two bytes,
// equal ones in order of index: nearly sorted is all that the index and
// Pebble's write buffer need, and equal keys keep their order.
func (s *sorter) sort(keys []store.Key) []uint32 {
	n := len(keys)
	if cap(s.order) < n {
		s.order, s.spare = make([]uint32, n), make([]uint32, n)
	}
	a, b := s.order[:n], s.spare[:n]
	if n < smallSort {
		for i := range a {
			a[i] = uint32(i)
		}
		slices.SortStableFunc(a, func(i, j uint32) int { return bytes.Compare(keys[i][:2], keys[j][:2]) })
		return a
	}
	var low, high [256]uint32
	for i := range keys {
		low[keys[i][1]]++
		high[keys[i][0]]++
	}
	starts(&low)
	starts(&high)
	for i := range keys {
		at := &low[keys[i][1]]
		b[*at] = uint32(i)
		*at++
	}
	for _, i := range b {
		at := &high[keys[i][0]]
		a[*at] = i
		*at++
	}
	return a
}

// starts turns counts into the places where each begins.
func starts(counts *[256]uint32) {
	var sum uint32
	for i, n := range counts {
		counts[i] = sum
		sum += n
	}
}

// smallSort is the number of keys below which counting costs more than it saves.
const smallSort = 64
