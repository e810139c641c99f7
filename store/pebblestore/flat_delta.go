package pebblestore

import (
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flatrun"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// deltaBytes is about the memory of a key in a delta.
const deltaBytes = 40

// delta is keys that are in no run yet.
type delta struct {
	x   *seenindex.Index
	log []store.Key // as they came; some may have been removed from x since, or be twice
}

func newDelta(s *Store) *delta { return &delta{x: seenindex.New(seenindex.Exact128, &s.secret)} }

// add adds keys[i] for each i of order, and sets fresh[i] to whether it was new.
func (d *delta) add(keys []store.Key, order []uint32, fresh []bool) {
	d.x.AddSorted(keys, order, fresh)
	for _, i := range order {
		if fresh[i] {
			d.log = append(d.log, keys[i])
		}
	}
}

func (d *delta) bytes() int64 { return d.x.Bytes() + int64(cap(d.log)*len(store.Key{})) }

// sorted returns the keys in order.
func (d *delta) sorted() []store.Key {
	keys := make([]store.Key, 0, len(d.log))
	for _, i := range new(sorter).sort(d.log) {
		if d.x.Has(&d.log[i]) {
			keys = append(keys, d.log[i])
		}
	}
	for lo := 0; lo < len(keys); { // of two equal bytes in front: about sixteen
		hi := lo + 1
		for hi < len(keys) && keys[hi][0] == keys[lo][0] && keys[hi][1] == keys[lo][1] {
			hi++
		}
		slices.SortFunc(keys[lo:hi], store.Key.Compare)
		lo = hi
	}
	return slices.Compact(keys)
}

// listSource hands out a list.
type listSource struct{ keys []store.Key }

// Next implements flatrun.Source.
func (l *listSource) Next() ([]store.Key, error) {
	n := min(len(l.keys), 4096)
	page := l.keys[:n]
	l.keys = l.keys[n:]
	return page, nil
}

var _ flatrun.Source = (*listSource)(nil)
