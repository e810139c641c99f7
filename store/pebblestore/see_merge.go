package pebblestore

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
)

// Many callers of few keys each would ask the index for one key at a time, and
// wait for memory at each. So the See steps of a group that follow on each other
// are carried out as one batch, in which equal keys keep their order. Steps of known keys alone, all
// of them durable, are answered at once: only new keys wait for the disk.

// mergeKeys is how many keys a step may have to be merged with others: a larger
// one has enough of its own.
const mergeKeys = 256

// seeMerger is the committer's memory for merged steps.
type seeMerger struct {
	ops    []*seeOp
	keys   []store.Key
	fresh  []bool
	sorter sorter
}

// seeRun returns how many steps at the beginning of a group can be merged.
func seeRun(group []*request) (n int) {
	var crawl string
	for _, r := range group {
		o, ok := r.op.(*seeOp)
		if !ok || o.weight() > mergeKeys || n > 0 && o.crawl != crawl {
			break
		}
		crawl = o.crawl
		n++
	}
	return n
}

// applySees carries out a run of See steps, and returns how many were not called
// back.
func (s *Store) applySees(tx *txn, run []*request) int {
	m := &s.sees
	m.ops, m.keys = m.ops[:0], m.keys[:0]
	for _, r := range run {
		if s.accept(r) {
			o := r.op.(*seeOp)
			m.ops, m.keys = append(m.ops, o), append(m.keys, o.batch.keys...)
		}
	}
	if len(m.ops) == 0 {
		return 0
	}
	if s.applyOne(tx, m) != nil { // nothing was recorded: the steps that can be are
		for _, r := range run {
			if r.op != nil {
				r.err = s.applyOne(tx, r.op)
			}
		}
	}
	clear(m.ops)
	return len(m.ops)
}

func (m *seeMerger) weight() int { return len(m.keys) }

// apply implements op: it records all keys, and answers each step.
func (m *seeMerger) apply(tx *txn) error {
	b := m.sorter.take(m.keys)
	c := tx.crawl(m.ops[0].crawl, true)
	if err := c.seen.addSorted(b.keys, b.all, b.fresh); err != nil {
		return err
	}
	tx.packFresh(c, b.keys, b.all, b.fresh)
	if cap(m.fresh) < len(m.keys) {
		m.fresh = make([]bool, cap(m.keys))
	}
	fresh := m.fresh[:len(m.keys)]
	m.sorter.give(fresh)
	for _, o := range m.ops {
		fresh = fresh[copy(o.batch.fresh, fresh):]
		o.durable = tx.s.recent.durable(o.batch.keys, o.batch.fresh)
		if o.opt.UnicodeHosts {
			tx.unicodeHosts()
			o.durable = false
		}
	}
	return nil
}

// recent notes which keys may not be durable yet. It is the committer's, but for landed.
type recent struct {
	group  uint64                // the number of the group that is carried out
	landed atomic.Uint64         // of the last group that is durable
	marks  [1 << markBits]uint64 // of the last group that recorded a key of a mark
}

const markBits = 14

// markOf returns the mark of a key: its first bits. A known key also waits for new keys of the same mark.
func markOf(k *store.Key) uint16 { return binary.BigEndian.Uint16(k[:]) >> (16 - markBits) }

// durable reports whether keys were all known and are durable.
func (r *recent) durable(keys []store.Key, fresh []bool) bool {
	landed := r.landed.Load()
	for i := range keys {
		if fresh[i] || r.marks[markOf(&keys[i])] > landed {
			return false
		}
	}
	return true
}

// answerDurable answers the steps of a group that need not wait for it, and takes them out of it.
func (s *Store) answerDurable(f *flight) {
	f.group = slices.DeleteFunc(f.group, func(r *request) bool {
		o, ok := r.op.(*seeOp)
		if ok = ok && o.durable; ok {
			r.done <- struct{}{}
		}
		return ok
	})
}
