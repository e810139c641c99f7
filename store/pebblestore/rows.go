package pebblestore

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/store"
)

// rowReader looks for the seen rows of a crawl in Pebble.
type rowReader struct {
	db *pebble.DB
	c  *crawl
}

// sweepAlone is the number of keys below which two goroutines don't pay.
const sweepAlone = 256

// sweep sets known[i] for each i of hits whose key has a row. Hits should be
// in order of the keys.
func (r *rowReader) sweep(keys []store.Key, hits []uint32, known []bool) error {
	if len(hits) < sweepAlone {
		return r.sweepPart(keys, hits, known)
	}
	var eg errgroup.Group
	half := len(hits) / 2
	eg.Go(func() error { return r.sweepPart(keys, hits[:half], known) })
	err := r.sweepPart(keys, hits[half:], known)
	return errors.Join(err, eg.Wait())
}

// bySize returns the generations, that with most keys first: most duplicates
// are found there, and needn't be looked for in the others.
func (r *rowReader) bySize() []*generation {
	gens := slices.Clone(r.c.gens)
	slices.SortStableFunc(gens, func(a, b *generation) int { return cmp.Compare(b.keys, a.keys) })
	return gens
}

// sweepPart walks each generation once. Most keys are in few generations, and
// Pebble's filters answer for the tables that don't have one.
func (r *rowReader) sweepPart(keys []store.Key, hits []uint32, known []bool) error {
	if len(hits) == 0 {
		return nil
	}
	for _, g := range r.bySize() {
		if err := r.sweepGeneration(g.num, keys, hits, known); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowReader) sweepGeneration(gen uint32, keys []store.Key, hits []uint32, known []bool) error {
	it, err := r.db.NewIter(&pebble.IterOptions{
		LowerBound: appendNumbered(nil, tableSeen, gen),
		UpperBound: afterNumbered(tableSeen, gen),
	})
	if err != nil {
		return err
	}
	row := make([]byte, 0, seenRowLen)
	for _, i := range hits {
		if known[i] {
			continue
		}
		row = appendSeenRow(row[:0], gen, &keys[i])
		known[i] = it.SeekPrefixGE(row)
		if !known[i] && it.Error() != nil {
			break
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// has says whether k has a row.
func (r *rowReader) has(k *store.Key) (bool, error) {
	for _, g := range r.bySize() {
		_, closer, err := r.db.Get(appendSeenRow(nil, g.num, k))
		if err == nil {
			return true, closer.Close()
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}
