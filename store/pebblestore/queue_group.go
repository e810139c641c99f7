package pebblestore

import (
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store/internal/sched"
)

// writeQueues adds the rows of the queues and crawls that changed, or a journal
// row for many, and drops from memory the queues that hold nothing. The batch is
// committed right after, so that a dropped queue can be read back at once.
func (s *Store) writeQueues(tx *txn) {
	sc := &s.sched
	tx.writePlaces()
	journaled := len(sc.queues) >= s.opt.journalFrom
	rows := sc.queues[:0] // of queues that get rows
	for _, q := range sc.queues {
		c := s.crawlOf(q)
		switch {
		case c == nil || q.Retired(): // forgotten in the meantime
			continue
		case q.Marks&markChanged == 0:
		case journaled && q.Marks&markNew == 0 && q.Held() > 0: // or it needs a row, to be found by its name
			tx.journalQueue(c, q)
		default:
			rows = append(rows, q)
		}
		q.Marks = 0
		if q.Held() == 0 {
			sc.drop(&c.queues, q)
		}
	}
	// Pebble takes in sorted rows faster.
	slices.SortFunc(rows, func(a, b *sched.Queue) int { return strings.Compare(a.Name, b.Name) })
	for _, q := range rows {
		tx.setQueue(s.crawlOf(q), q)
	}
	tx.writeJournal()
	clear(sc.queues)
	sc.queues = sc.queues[:0]
	for _, c := range sc.crawls {
		if c.queues.changed && s.byNum[c.num] == c {
			tx.set(appendNumbered(nil, tableCrawlQueues, c.num), appendCrawlQueues(nil, &c.queues))
		}
		c.queues.changed = false
	}
	clear(sc.crawls)
	sc.crawls = sc.crawls[:0]
	if sc.changed {
		sc.changed = false
		tx.set([]byte{tableCrawlQueues}, appendScheduler(nil, sc))
	}
}

// flush makes the steps before this one readable in the database, at the
// beginning of a step. The group is still synced at its end, and a power cut keeps
// steps whole: it keeps a beginning of the batches.
func (tx *txn) flush() {
	if tx.batch.Empty() && len(tx.packs) == 0 || tx.err != nil {
		return
	}
	tx.s.writePacked(tx)
	tx.s.writeDirty(tx)
	tx.s.writeQueues(tx)
	if tx.count(); tx.err == nil {
		tx.note(tx.commit(func(b *pebble.Batch) error { return b.Commit(pebble.NoSync) }))
	}
	tx.s.sched.unsynced = true
	tx.batch = tx.s.db.NewBatch()
}

// reader reads the rows as this step left them so far. It is good until the
// next write.
func (tx *txn) reader() pebble.Reader {
	switch {
	case tx.batch.Empty():
		return tx.s.db
	case !tx.batch.Indexed():
		indexed := tx.s.db.NewIndexedBatch()
		tx.note(indexed.Apply(tx.batch, nil))
		tx.note(tx.batch.Close())
		tx.batch = indexed
	}
	return tx.batch
}

// singleDelete removes a row that was set exactly once.
func (tx *txn) singleDelete(key []byte) { tx.note(tx.batch.SingleDelete(key, nil)) }
