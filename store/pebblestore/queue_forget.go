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
// or not.
func (tx *txn) forgetHeld(c *crawl, k *store.Key) {
	f := tx.find(c, k)
	tx.s.texts.drop(c.num, k)
	tx.release(c, &f)
	if f.lease != nil || f.ptr.queue != 0 {
		tx.deletePlace(c, k)
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
