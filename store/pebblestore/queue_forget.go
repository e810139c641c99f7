package pebblestore

import (
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// forgetQueues removes the queue rows and state of a whole crawl, within a
// Forget; the seen side is the engine's.
func (tx *txn) forgetQueues(c *crawl) {
	qs := &c.queues
	tx.delete(appendNumbered(nil, tableCrawlQueues, c.num))
	qs.changed = false
	if qs.next == 1 {
		return // it never had a queue
	}
	for _, q := range qs.loaded {
		tx.deleteLeases(q)
		tx.s.sched.drop(qs, q)
	}
	for _, table := range []byte{tableOrder, tableQueue, tableName, tableDone, tableRetired} {
		tx.deleteRange(appendNumbered(nil, table, c.num), afterNumbered(table, c.num))
	}
	for _, r := range slices.Clone(tx.s.sched.retired) {
		if r.c == c {
			tx.deleteLeases(r.q)
			tx.s.sched.finish(r)
		}
	}
	qs.Restore(sched.Counts{}) // the scheduler drops a crawl that holds nothing
}

// deleteLeases removes the rows of the leases of a queue.
func (tx *txn) deleteLeases(q *sched.Queue) {
	for _, l := range q.Leases(q.Leased()) {
		tx.deleteLease(l)
	}
}

// forgetHeld removes what the queue side has of a key that is forgotten, held
// or not. The step ends with file.
func (tx *txn) forgetHeld(c *crawl, k *store.Key) {
	f := tx.find(c, k)
	tx.s.texts.drop(c.num, k)
	tx.release(c, &f)
	if f.lease != nil || f.ptr.queue != 0 {
		tx.deletePlace(c, k)
	}
}

// pointed is a key with its place.
type pointed struct {
	key store.Key
	pointer
}

// holds reports whether a key is queued or leased, so that it must not be forgotten for
// its age.
func (tx *txn) holds(c *crawl, p *pointed) bool {
	if c.queues.Leases[p.key] != nil {
		return true
	}
	_, queued, err := queuedAt(tx.reader(), c.num, &p.key, &p.pointer)
	tx.note(err)
	return queued
}

// forgetDone removes the texts and places of keys that were completed or dropped.
func (tx *txn) forgetDone(c *crawl, keys []pointed) {
	for i := range keys {
		tx.delete(appendDoneRow(nil, c.num, keys[i].queue, &keys[i].key))
		tx.deletePlace(c, &keys[i].key)
	}
}

// recordAt reads a queued URL.
func recordAt(key, value []byte) (sched.Record, error) {
	priority, at, err := orderPlace(key)
	if err != nil {
		return sched.Record{}, err
	}
	return parseRecord(value, priority, at)
}
