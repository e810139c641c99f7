package pebblestore

import (
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// forgetQueues removes the queue rows and state of a whole crawl, within a
// Forget; the seen side is the engine's.
func (tx *txn) forgetQueues(c *crawl) {
	qs := &c.queues
	if qs.Crawl == nil {
		return
	}
	for _, l := range qs.Leases {
		tx.deleteLease(l)
	}
	for _, q := range qs.loaded {
		tx.s.sched.drop(qs, q)
	}
	for _, table := range []byte{tableOrder, tableQueue, tableName, tableDone} {
		tx.deleteRange(appendNumbered(nil, table, c.num), afterNumbered(table, c.num))
	}
	tx.delete(appendNumbered(nil, tableCrawlQueues, c.num))
	qs.Restore(sched.Counts{}) // the scheduler drops a crawl that holds nothing
	qs.changed = false
}

// forgetHeld removes what the queue side has of a key that is forgotten, held
// or not.
func (tx *txn) forgetHeld(c *crawl, k *store.Key) {
	f := tx.find(c, k)
	tx.s.texts.drop(c.num, k)
	tx.release(c, &f)
	tx.file()
}

// pointed is a key whose seen row says where it is, or was, queued.
type pointed struct {
	key store.Key
	pointer
}

// holds says whether a key is queued or leased, so that it may not be forgotten for
// its age.
func (tx *txn) holds(c *crawl, p *pointed) bool {
	return tx.s.queuesOf(c).Leases[p.key] != nil || tx.findQueued(c, &p.key, &found{ptr: p.pointer})
}

// forgetDone removes the texts of keys that were completed or dropped, whose seen
// rows are gone.
func (tx *txn) forgetDone(c *crawl, keys []pointed) {
	for i := range keys {
		tx.delete(appendDoneRow(nil, c.num, keys[i].queue, &keys[i].key))
	}
}

// forgetQueue removes the keys of a queue whose text is kept, and the counts of
// those that it completed or dropped.
func (tx *txn) forgetQueue(c *crawl, name string) (int64, error) {
	q := tx.oldQueue(c, name)
	if q == nil {
		return 0, tx.err
	}
	keys, err := tx.queueKeys(c, q)
	if err != nil {
		return 0, err
	}
	n, err := tx.forgetKeys(c, keys)
	if err != nil {
		return 0, err
	}
	q.ForgetEnds()
	tx.changedQueue(q)
	tx.file()
	return n, nil
}

// queueKeys returns the keys of a queue whose text is kept.
func (tx *txn) queueKeys(c *crawl, q *sched.Queue) (keys []store.Key, err error) {
	for _, l := range c.queues.Leases {
		if l.Queue == q {
			keys = append(keys, l.Key)
		}
	}
	num := uint32(q.ID)
	err = tx.s.scan(appendOrderPrefix(nil, c.num, num), appendOrderPrefix(nil, c.num, num+1), func(key, value []byte) error {
		rec, err := recordAt(key, value)
		keys = append(keys, rec.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = tx.s.scan(appendDonePrefix(nil, c.num, num), appendDonePrefix(nil, c.num, num+1), func(key, _ []byte) error {
		keys = append(keys, store.Key(key[9:]))
		return nil
	})
	return keys, err
}

// recordAt reads a queued URL.
func recordAt(key, value []byte) (sched.Record, error) {
	priority, at, err := orderPlace(key)
	if err != nil {
		return sched.Record{}, err
	}
	return parseRecord(value, priority, at)
}
