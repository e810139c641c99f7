package pebblestore

import (
	"errors"
	"io"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// found is where a known key is.
type found struct {
	state store.State // SeenOnly: no queue, lease or record
	ptr   pointer     // of its place; not looked up for a lease
	queue *sched.Queue
	lease *sched.Lease
	rec   sched.Record
}

// text reports whether the text of the URL is kept.
func (f *found) text() bool { return f.state != store.SeenOnly }

func (f *found) held() bool { return f.state == store.Queued || f.state == store.Leased }

// leasedAt returns a lease without the texts that only its row has.
func leasedAt(l *sched.Lease) found {
	return found{state: store.Leased, queue: l.Queue, lease: l, rec: l.Record}
}

// find finds a key of c that the index knows.
func (tx *txn) find(c *crawl, k *store.Key) found {
	switch l := c.queues.Leases[*k]; {
	case l == nil:
	case l.Queue.Retired():
		delete(c.queues.Leases, *k) // its queue still has it, and forgets it
	default:
		f := leasedAt(l)
		f.rec = tx.whole(l)
		return f
	}
	f := found{ptr: tx.findPlace(c, k)}
	if f.ptr.queue == 0 {
		return f
	}
	rows := tx.reader()
	rec, queued, err := queuedAt(rows, c.num, k, &f.ptr)
	f.rec, f.state = rec, store.Queued
	if err == nil && !queued {
		f.rec, f.state, err = endedAt(rows, c.num, k, f.ptr.queue)
	}
	if tx.note(err); f.state == store.SeenOnly {
		return f
	}
	if f.queue = tx.numberedQueue(c, f.ptr.queue); f.queue == nil {
		f.state = store.SeenOnly
	}
	return f
}

// rowGetter reads single rows.
type rowGetter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// readPlace reads where a URL is or was queued whose place is not in memory, the zero pointer if that is
// not known.
func readPlace(rows rowGetter, crawl uint32, k *store.Key) (p pointer, err error) {
	err = readRow(rows, appendKeyRow(nil, tablePlace, crawl, k), func(row []byte) (err error) {
		p, err = parsePointer(row)
		return err
	})
	return p, err
}

// queuedAt reads the URL of a key at its place, and reports whether it is there.
func queuedAt(rows rowGetter, crawl uint32, k *store.Key, p *pointer) (rec sched.Record, ok bool, err error) {
	if p.at.Seq == 0 {
		return rec, false, nil
	}
	err = readRow(rows, appendOrderRow(nil, crawl, p.queue, p.priority, p.at), func(row []byte) (err error) {
		rec, err = parseRecord(row, p.priority, p.at)
		ok = rec.Key == *k
		return err
	})
	return rec, ok, err
}

// endedAt reads the URL of a key that was completed or dropped. The state is SeenOnly if its text is not
// kept.
func endedAt(rows rowGetter, crawl uint32, k *store.Key, queue uint32) (rec sched.Record, state store.State, err error) {
	err = readRow(rows, appendDoneRow(nil, crawl, queue, k), func(row []byte) (err error) {
		rec, state, err = parseDone(row)
		return err
	})
	return rec, state, err
}

// readRow calls parse for a row if there is one.
func readRow(rows rowGetter, key []byte, parse func(row []byte) error) error {
	row, closer, err := rows.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(parse(row), closer.Close())
}

// entry returns the entry of a key for callers.
func (f *found) entry(c *crawl, k *store.Key) store.Entry {
	switch {
	case f.lease != nil:
		return f.lease.Entry(f.rec)
	case f.text():
		e := f.rec.Entry(f.queue)
		e.State = f.state
		return e
	}
	return store.Entry{Key: *k, Crawl: c.name}
}

// release takes a known URL from where it is: out of its queue, out of its
// lease, or from those completed or dropped. Its record is the caller's now.
func (tx *txn) release(c *crawl, f *found) {
	q := f.queue
	switch f.state {
	case store.Queued:
		tx.singleDelete(appendOrderRow(nil, c.num, uint32(q.ID), f.rec.Priority, f.ptr.at))
		q.Add(-1)
		delete(tx.s.sched.ahead, q)
		if q.Head(f.rec.Priority) == f.ptr.at {
			q.Headless |= 1 << f.rec.Priority
		}
	case store.Leased:
		tx.deleteLease(f.lease)
		f.lease.End()
	case store.Done, store.Dropped:
		q.End(f.state, -1)
		tx.delete(appendDoneRow(nil, c.num, uint32(q.ID), &f.rec.Key))
	default:
		return
	}
	tx.changedQueue(q)
}

// findHeads looks for the first URL of each priority of a queue whose first was removed: once in a
// step, however many of the first were removed. It is not before the one that is the head as yet.
func (tx *txn) findHeads(q *sched.Queue) {
	crawl, num := uint32(q.Crawl.ID), uint32(q.ID)
	for ; q.Headless != 0; q.Headless &= q.Headless - 1 {
		p := uint8(bits.TrailingZeros8(q.Headless))
		it, err := tx.reader().NewIter(bounds(appendOrderRow(nil, crawl, num, p, q.Head(p)), appendLevelEnd(nil, crawl, num, p)))
		if err != nil {
			tx.note(err)
			return
		}
		head := sched.Head{Due: sched.Never}
		if it.First() {
			_, head, err = orderPlace(it.Key())
			tx.note(err)
		}
		tx.note(it.Close())
		q.SetHead(p, head)
	}
}

// deleteLease removes the row of a lease.
func (tx *txn) deleteLease(l *sched.Lease) {
	tx.key = appendLongRow(tx.key[:0], tableLease, l.Token)
	if l.Rewritten {
		tx.delete(tx.key)
	} else {
		tx.singleDelete(tx.key)
	}
}

// enqueue queues a URL that is not held, as the last to arrive, and returns
// its place, which is the caller's to write.
func (tx *txn) enqueue(c *crawl, q *sched.Queue, rec *sched.Record) pointer {
	p := tx.arrive(q, rec)
	tx.setQueued(c, p.queue, rec)
	return p
}

// arrive is enqueue without the row of the URL.
func (tx *txn) arrive(q *sched.Queue, rec *sched.Record) pointer {
	rec.Seq = tx.s.sched.after(&tx.s.sched.seq)
	at := rec.Place()
	tx.s.texts.put(uint32(q.Crawl.ID), &rec.Key, rec.URL)
	tx.s.sched.queuedAt(q, rec.Priority, at)
	if h := q.Head(rec.Priority); at.Due < h.Due {
		q.SetHead(rec.Priority, at)
	}
	q.Add(1)
	tx.changedQueue(q)
	return pointer{uint32(q.ID), rec.Priority, at}
}

// setQueued writes the row of a queued URL.
func (tx *txn) setQueued(c *crawl, queue uint32, rec *sched.Record) {
	tx.key = appendOrderRow(tx.key[:0], c.num, queue, rec.Priority, rec.Place())
	tx.value = appendRecord(tx.value[:0], rec)
	tx.set(tx.key, tx.value)
}
