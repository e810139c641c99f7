package pebblestore

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flatrun"
)

// flat is a set whose keys are in sorted files beside Pebble, which remains the
// truth: see package flatrun. New keys gather in memory, in a delta; one that is
// full is frozen and written as a run behind the committer's back, and runs of
// one size are merged. It never errs.
//
// What is known is what is in the delta, or in a frozen one or a run and not
// forgotten since. When that can't be had, because a file is damaged, can't be
// written, or too much was forgotten, the set is blind: all but the delta is given
// up, Pebble is asked instead, and one run of everything is made from a snapshot
// of the rows. Nobody waits for it, and adds go on.
//
// The committer alone uses the fields; the workers get what they need, and send
// what they made as results.
type flat struct {
	s    *Store
	rows *rowReader

	runs   []*flatrun.Run // oldest first
	frozen []*delta       // being written, oldest first
	delta  *delta
	gone   map[store.Key]struct{} // forgotten, though frozen or in a run; never in the delta

	blind      bool   // Pebble has keys that the runs and deltas don't
	rebuilding bool   // blind, with the delta complete since the snapshot
	retryAt    int64  // the group from which on a blind set may be rebuilt
	failures   uint   // since the last success
	epoch      uint64 // of the runs: raised when they are given up

	results chan flatResult // of the workers
	workers int
	writing *delta // by a worker
	merging bool
	mergeAt int64          // the group from which on runs may be merged
	retired []*flatrun.Run // given back when no worker reads them

	stop          atomic.Bool // for workers
	saving, saved bool        // by Close, whose writes don't stop; the files are to stay
	memory        atomic.Int64
	mapped        atomic.Int64

	known []bool
	rest  []uint32
}

// Limits of a flat set in memory.
const (
	deltaKeys = 1 << 20 // in a delta that is frozen
	minDelta  = 1 << 14 // the same, however small the budget
	maxFrozen = 2       // deltas that wait to be written, before adds wait for them
	maxGone   = 1 << 18 // forgotten keys to be remembered
	restKeys  = 1 << 16 // in the delta of a blind set that can't be rebuilt yet
)

func newFlat(s *Store, rows *rowReader) *flat {
	return &flat{
		s: s, rows: rows, delta: newDelta(s),
		gone:    map[store.Key]struct{}{},
		results: make(chan flatResult, 4), // there is one worker of a kind
	}
}

func (f *flat) addSorted(keys []store.Key, order []uint32, fresh []bool) error {
	f.collect()
	known, err := f.find(keys, order)
	if err != nil {
		return err
	}
	rest := f.rest[:0]
	for _, i := range order {
		if fresh[i] = false; !known[i] {
			rest = append(rest, i)
		}
	}
	f.rest = rest
	f.delta.add(keys, rest, fresh)
	if len(f.gone) > 0 {
		for _, i := range rest {
			delete(f.gone, keys[i])
		}
	}
	f.measure()
	return nil
}

// find tells which keys are known, but for those in the delta.
func (f *flat) find(keys []store.Key, order []uint32) ([]bool, error) {
	if len(f.known) < len(keys) {
		f.known = make([]bool, len(keys))
	}
	known := f.known[:len(keys)]
	clear(known)
	if err := f.findInRuns(keys, order, known); err != nil {
		f.lose()
		clear(known)
	}
	if len(f.gone) > 0 {
		for _, i := range order {
			if _, gone := f.gone[keys[i]]; gone {
				known[i] = false
			}
		}
	}
	if !f.blind {
		return known, nil
	}
	f.rest = f.rest[:0]
	for _, i := range order {
		if !known[i] {
			f.rest = append(f.rest, i)
		}
	}
	return known, f.rows.sweep(keys, f.rest, known)
}

// findInRuns looks into the runs and what is frozen, with two goroutines.
func (f *flat) findInRuns(keys []store.Key, order []uint32, known []bool) error {
	if len(order) < sweepAlone {
		return f.findPart(keys, order, known)
	}
	var eg errgroup.Group
	half := len(order) / 2
	eg.Go(func() error { return f.findPart(keys, order[:half], known) })
	err := f.findPart(keys, order[half:], known)
	return errors.Join(err, eg.Wait())
}

func (f *flat) findPart(keys []store.Key, order []uint32, known []bool) error {
	for _, r := range f.runs {
		if err := r.Find(keys, order, known); err != nil {
			return err
		}
	}
	for _, d := range f.frozen {
		for _, i := range order {
			known[i] = known[i] || d.x.Has(&keys[i])
		}
	}
	return nil
}

func (f *flat) has(k *store.Key) (bool, error) {
	if f.delta.x.Has(k) {
		return true, nil
	}
	known, err := f.find([]store.Key{*k}, first)
	return known[0], err
}

func (f *flat) remove(k *store.Key) {
	f.delta.x.Remove(k)
	known := []bool{f.rebuilding} // the snapshot may have it
	if err := f.findPart([]store.Key{*k}, first, known); err != nil {
		f.lose()
		return
	}
	if known[0] {
		f.gone[*k] = struct{}{}
	}
	if len(f.gone) > f.s.opt.flat(maxGone) {
		f.lose()
	}
}

func (f *flat) learn(keys []store.Key) {
	f.delta.add(keys, identity(len(keys)), make([]bool, len(keys)))
	f.measure()
}

func (f *flat) reserve(int64) {}

// committed is when deltas are frozen and a blind set is rebuilt: Pebble has all
// keys.
func (f *flat) committed() {
	f.collect()
	switch {
	case f.blind && !f.rebuilding:
		if f.workers == 0 && f.s.groups.Load() >= f.retryAt {
			f.rebuild()
		} else if len(f.delta.log) > f.s.opt.flat(restKeys) {
			f.newDelta() // Pebble is asked anyway
		}
	case len(f.delta.log) >= f.s.opt.deltaKeys():
		f.frozen = append(f.frozen, f.delta)
		f.delta = newDelta(f.s)
	}
	f.work()
	for len(f.frozen) > maxFrozen && !f.stopped() { // imports are faster than the disk may be
		r := <-f.results
		f.take(&r)
		f.work()
	}
	f.measure()
}

// lose gives up all but the delta. What isn't there is in Pebble, and what was
// forgotten is not.
func (f *flat) lose() {
	f.retired = append(f.retired, f.runs...)
	for _, d := range f.frozen {
		if d != f.writing { // or its result is what closes it
			d.x.Close()
		}
	}
	f.runs, f.frozen = nil, nil
	clear(f.gone)
	f.blind, f.rebuilding = true, false
	f.epoch++
}

// later is the group for the next try after a worker failed, each time after a
// longer while.
func (f *flat) later() int64 {
	f.failures++
	return f.s.groups.Load() + 128<<min(f.failures, 12)
}

func (f *flat) newDelta() {
	f.delta.x.Close()
	f.delta = newDelta(f.s)
}

// measure notes what the set takes.
func (f *flat) measure() {
	n := f.delta.bytes() + int64(40*len(f.gone)) + int64(cap(f.known)+4*cap(f.rest))
	for _, d := range f.frozen {
		n += d.bytes()
	}
	f.memory.Store(n) // for others to read
	n = 0
	for _, r := range f.runs {
		n += r.Bytes()
	}
	f.mapped.Store(n)
}

func (f *flat) bytes() int64 { return f.memory.Load() }

// flat returns a limit of flat sets, or what it is in tests.
func (o *Options) flat(limit int) int {
	if o.flatKeys > 0 {
		return max(1, limit/(deltaKeys/o.flatKeys))
	}
	return limit
}

// deltaKeys is how many keys a delta has when it is frozen: a third of the budget's,
// as two may be frozen while another fills.
func (o *Options) deltaKeys() int {
	n := o.flat(deltaKeys)
	if o.IndexBytes > 0 {
		n = min(n, max(minDelta, int(o.IndexBytes/(3*deltaBytes))))
	}
	return n
}
