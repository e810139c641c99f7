package pebblestore

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// bounded is a set whose memory doesn't grow with its keys: a Bloom filter
// knows most keys that are new, a cache of recent keys most that are not, and
// the rest is looked up in Pebble, sorted. It never errs.
type bounded struct {
	rows    *rowReader
	filters []*seenindex.Filter // the last one learns; each is twice the one before
	secret  *[secretLen]byte
	max     int64                  // bytes of filters; beyond it the last one fills up
	recent  []store.Key            // a power of two, each in the place its key says
	pending map[store.Key]struct{} // learnt, and not yet to be read
	hits    []uint32
	known   []bool
}

// The cache of recent keys has a place for each key of a small crawl, and
// 64 MB for a great one, or a quarter of the budget.
const (
	minRecent = 1 << 12
	maxRecent = 1 << 22
)

// firstFilter is how many keys the first filter of a new crawl is made for.
const firstFilter = 1 << 16

func newBounded(rows *rowReader, secret *[secretLen]byte, budget int64) *bounded {
	return &bounded{
		rows: rows, secret: secret, max: budget,
		recent:  make([]store.Key, minRecent),
		pending: map[store.Key]struct{}{},
	}
}

func (b *bounded) reserve(n int64) {
	n = max(n+n/2, firstFilter)
	if b.max > 0 {
		n = min(n, b.max*8/12)
	}
	b.filters = append(b.filters, seenindex.NewFilter(n, b.secret))
	b.growRecent(n)
}

// growRecent makes the cache as great as n keys deserve.
func (b *bounded) growRecent(n int64) {
	size, limit := len(b.recent), int64(maxRecent)
	if b.max > 0 {
		limit = min(limit, b.max/4/int64(len(store.Key{})))
	}
	for int64(size) < min(n, limit) {
		size *= 2
	}
	if size == len(b.recent) {
		return
	}
	old := b.recent
	b.recent = make([]store.Key, size)
	for i := range old {
		*b.slot(&old[i]) = old[i]
	}
}

// learn1 adds k to the last filter, or to a new one twice as great if that is
// full and there is memory for it.
func (b *bounded) learn1(k *store.Key) {
	if len(b.filters) == 0 {
		b.reserve(0)
	}
	last := b.filters[len(b.filters)-1]
	if last.Full() && (b.max == 0 || b.filterBytes()+2*last.Bytes() <= b.max) {
		last = seenindex.NewFilter(last.Bytes()*2*8/12, b.secret)
		b.filters = append(b.filters, last)
		b.growRecent(last.Bytes() * 8 / 12)
	}
	last.Add(k)
}

func (b *bounded) learn(keys []store.Key) {
	for i := range keys {
		b.learn1(&keys[i])
	}
}

// perhaps says whether k may be recorded; false is sure.
func (b *bounded) perhaps(k *store.Key) bool {
	for _, f := range b.filters {
		if f.Has(k) {
			return true
		}
	}
	return false
}

// slot is the place of k in the cache. Keys are hashes; their last bytes say
// nothing about the order of the batch.
func (b *bounded) slot(k *store.Key) *store.Key {
	return &b.recent[int(binary.LittleEndian.Uint32(k[12:]))&(len(b.recent)-1)]
}

// isRecent says whether k is surely recorded.
func (b *bounded) isRecent(k *store.Key) bool {
	if *b.slot(k) == *k && *k != (store.Key{}) { // which an empty slot is like
		return true
	}
	_, ok := b.pending[*k]
	return ok
}

func (b *bounded) addSorted(keys []store.Key, order []uint32, fresh []bool) error {
	if len(b.known) < len(keys) {
		b.known = make([]bool, len(keys))
	}
	known := b.known[:len(keys)]
	clear(known)
	hits := b.hits[:0]
	for _, i := range order {
		k := &keys[i]
		if known[i] = b.isRecent(k); !known[i] && b.perhaps(k) {
			hits = append(hits, i)
		}
	}
	b.hits = hits
	if err := b.rows.sweep(keys, hits, known); err != nil {
		return err
	}
	for _, i := range order {
		k := &keys[i]
		if !known[i] {
			_, known[i] = b.pending[*k] // earlier in this batch
		}
		if fresh[i] = !known[i]; fresh[i] {
			b.pending[*k] = struct{}{}
			b.learn1(k)
		}
		*b.slot(k) = *k
	}
	return nil
}

func (b *bounded) has(k *store.Key) (bool, error) {
	if b.isRecent(k) {
		return true, nil
	}
	if !b.perhaps(k) {
		return false, nil
	}
	return b.rows.has(k)
}

// remove can't take k out of the filter: its next look-up costs a read.
func (b *bounded) remove(k *store.Key) {
	if s := b.slot(k); *s == *k {
		*s = store.Key{}
	}
	delete(b.pending, *k)
}

func (b *bounded) committed() { clear(b.pending) }

func (b *bounded) filterBytes() (n int64) {
	for _, f := range b.filters {
		n += f.Bytes()
	}
	return n
}

func (b *bounded) bytes() int64 { return b.filterBytes() + int64(len(b.recent)*len(store.Key{})) }

func (b *bounded) close() { b.filters, b.recent = nil, nil }
