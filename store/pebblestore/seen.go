package pebblestore

import (
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// seenSet answers which keys of a crawl are recorded, and learns new ones. The
// committer alone uses it. Rows are written by the caller.
type seenSet interface {
	// addSorted sets fresh[i] for each i of order, and learns the keys that are
	// fresh; an error leaves the set as it was.
	addSorted(keys []store.Key, order []uint32, fresh []bool) error
	has(k *store.Key) (bool, error)
	// remove forgets a key that is recorded.
	remove(k *store.Key)
	// learn adds keys read from rows, which are in order.
	learn(keys []store.Key)
	// reserve makes room for n keys.
	reserve(n int64)
	// committed says that the rows of all keys learnt so far can be read.
	committed()
	bytes() int64
	close()
}

// memory is a set that is all in memory: the modes fp64, fp40 and exact128.
type memory struct{ x *seenindex.Index }

func (m memory) addSorted(keys []store.Key, order []uint32, fresh []bool) error {
	m.x.AddSorted(keys, order, fresh)
	return nil
}

func (m memory) has(k *store.Key) (bool, error) { return m.x.Has(k), nil }
func (m memory) remove(k *store.Key)            { m.x.Remove(k) }
func (m memory) reserve(n int64)                { m.x.Reserve(n) }
func (m memory) committed()                     {}
func (m memory) bytes() int64                   { return m.x.Bytes() }
func (m memory) close()                         { m.x.Close() }

func (m memory) learn(keys []store.Key) {
	m.x.AddSorted(keys, identity(len(keys)), make([]bool, len(keys)))
}

// exact is a memory whose hits are verified in Pebble: a key is a duplicate
// only if its row is there. It costs a read for each duplicate that isn't of
// the same group.
type exact struct {
	memory
	rows    *rowReader
	pending map[store.Key]struct{} // learnt, and not yet to be read
}

func (e *exact) addSorted(keys []store.Key, order []uint32, fresh []bool) error {
	var hits []uint32
	for _, i := range order {
		if fresh[i] = !e.x.Has(&keys[i]); !fresh[i] {
			hits = append(hits, i)
		}
	}
	known := make([]bool, len(keys))
	if err := e.rows.sweep(keys, hits, known); err != nil {
		return err
	}
	for _, i := range order {
		_, again := e.pending[keys[i]]
		if fresh[i] = !again && !known[i]; fresh[i] {
			e.pending[keys[i]] = struct{}{}
			e.x.Add(&keys[i])
		}
	}
	return nil
}

func (e *exact) has(k *store.Key) (bool, error) {
	if _, ok := e.pending[*k]; ok {
		return true, nil
	}
	if !e.x.Has(k) {
		return false, nil
	}
	return e.rows.has(k)
}

// remove keeps the fingerprint, which another key may share: hits are verified.
func (e *exact) remove(k *store.Key) { delete(e.pending, *k) }

func (e *exact) committed() { clear(e.pending) }
