package pebblestore

import (
	"cmp"
	"errors"
	"io"
	"math/bits"
	"slices"

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

// sought is a URL that is looked for, and what was found.
type sought struct {
	found
	key     store.Key
	token   uint64 // of the lease
	row     uint64 // of the journal, which has its place; 0 for none
	item    uint32
	version uint64 // of the cache, before anything was read
}

// find finds a key of c that the index knows.
func (tx *txn) find(c *crawl, k *store.Key) found {
	list := []sought{{key: *k}}
	tx.note(tx.findAll(c, list))
	f := &list[0].found
	if f.lease != nil {
		f.rec = tx.whole(f.lease)
	}
	return *f
}

// findAll finds keys of c that the index knows. A lease may lack the texts that only its row has.
func (tx *txn) findAll(c *crawl, list []sought) error {
	for i := range list {
		if l := c.queues.Leases[list[i].key]; l != nil && l.Queue.Retired() {
			delete(c.queues.Leases, l.Key) // its queue still has it, and forgets it
		}
	}
	tx.s.sched.places.close(tx) // so that reader has its last row
	c.locate(tx.s, list)
	ended, err := findQueued(tx.reader(), c.num, list)
	if err == nil {
		err = findEnded(tx.reader(), c.num, ended)
	}
	for i := range list {
		if f := &list[i].found; f.text() && f.lease == nil {
			if f.queue = tx.numberedQueue(c, f.ptr.queue); f.queue == nil {
				f.state = store.SeenOnly
			}
		}
	}
	return err
}

// locate sets the leases of URLs, and the rows of the journal that have their places. The caller holds s.mu.
func (c *crawl) locate(s *Store, list []sought) {
	for i := range list {
		l := &list[i]
		if lease := c.queues.Leases[l.key]; lease != nil && !lease.Queue.Retired() {
			l.found, l.token = leasedAt(lease), lease.Token
		} else {
			l.row = s.sched.places.row(&placeKey{c.num, l.key})
		}
	}
}

// leasedAt returns a lease without the texts that only its row has.
func leasedAt(l *sched.Lease) found {
	return found{state: store.Leased, queue: l.Queue, lease: l, rec: l.Record}
}

// findPlaces reads the places of URLs that are not leased, after locate, and returns the URLs that have one.
func findPlaces(rows pebble.Reader, crawl uint32, list []sought) ([]*sought, error) {
	placed := make([]*sought, 0, len(list))
	for i := range list {
		if list[i].lease == nil {
			placed = append(placed, &list[i])
		}
	}
	slices.SortStableFunc(placed, func(a, b *sought) int { return cmp.Compare(a.row, b.row) })
	var in uint64 // the row that was read last
	latest := map[placeKey]pointer{}
	err := inTable(rows, tablePlaces, placed, func(r rowGetter, l *sought) error {
		if l.row == 0 {
			return nil
		}
		if l.row != in {
			clear(latest)
			err := readRow(r, appendLongRow(nil, tablePlaces, l.row), func(row []byte) error {
				return eachPlace(row, func(at placeKey, p pointer) { latest[at] = p })
			})
			if err != nil {
				return err
			}
			in = l.row
		}
		l.ptr = latest[placeKey{crawl, l.key}]
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = inTable(rows, tablePlace, placed, func(r rowGetter, l *sought) (err error) {
		if l.ptr.queue == 0 {
			l.ptr, err = readPlace(r, crawl, &l.key)
		}
		return err
	})
	return slices.DeleteFunc(placed, func(l *sought) bool { return l.ptr.queue == 0 }), err
}

// findQueued finds URLs that are queued, after locate, and returns those that were queued once and are
// not held. It looks into each table in the order of its rows.
func findQueued(rows pebble.Reader, crawl uint32, list []sought) (ended []*sought, err error) {
	placed, err := findPlaces(rows, crawl, list)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(placed, func(a, b *sought) int { return a.ptr.compare(&b.ptr) })
	err = inTable(rows, tableOrder, placed, func(r rowGetter, l *sought) error {
		p := &l.ptr
		if p.at.Seq == 0 {
			return nil
		}
		return readRow(r, appendOrderRow(nil, crawl, p.queue, p.priority, p.at), func(row []byte) error {
			rec, err := parseRecord(row, p.priority, p.at)
			if rec.Key == l.key {
				l.rec, l.state = rec, store.Queued
			}
			return err
		})
	})
	return slices.DeleteFunc(placed, func(l *sought) bool { return l.state == store.Queued }), err
}

// findEnded finds those that findQueued returned whose text is kept.
func findEnded(rows pebble.Reader, crawl uint32, list []*sought) error {
	return inTable(rows, tableDone, list, func(r rowGetter, l *sought) error {
		return readRow(r, appendDoneRow(nil, crawl, l.ptr.queue, &l.key), func(row []byte) (err error) {
			l.rec, l.state, err = parseDone(row)
			return err
		})
	})
}

// rowGetter reads single rows.
type rowGetter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// readPlace reads the row of the place of a URL, the zero pointer if it has none.
func readPlace(rows rowGetter, crawl uint32, k *store.Key) (p pointer, err error) {
	err = readRow(rows, appendKeyRow(nil, tablePlace, crawl, k), func(row []byte) (err error) {
		p, err = parsePointer(row)
		return err
	})
	return p, err
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

// manyRows is how many reads of single rows, in order, are worth an iterator.
const manyRows = 16

// inTable calls read for each of a list with a reader of a table.
func inTable(rows pebble.Reader, table byte, list []*sought, read func(rowGetter, *sought) error) (err error) {
	var r rowGetter = rows
	if len(list) >= manyRows {
		it, err := rows.NewIter(bounds([]byte{table}, rowBound(table)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		r = rowSeeker{it}
	}
	for _, l := range list {
		if err := read(r, l); err != nil {
			return err
		}
	}
	return nil
}

// rowSeeker reads rows with an iterator, which finds the next row sooner from where the last one was.
type rowSeeker struct{ it *pebble.Iterator }

// Get returns the value of a row, good until the next call.
func (r rowSeeker) Get(key []byte) ([]byte, io.Closer, error) {
	if r.it.SeekPrefixGE(key) {
		value, err := r.it.ValueAndErr()
		return value, io.NopCloser(nil), err
	}
	if err := r.it.Error(); err != nil {
		return nil, nil, err
	}
	return nil, nil, pebble.ErrNotFound
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
		delete(c.queues.ahead, q)
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
	tx.s.texts.drop(c.num, &f.rec.Key)
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
	p := tx.arrive(c, q, rec)
	tx.setQueued(c, p.queue, rec)
	return p
}

// arrive is enqueue without the row of the URL.
func (tx *txn) arrive(c *crawl, q *sched.Queue, rec *sched.Record) pointer {
	rec.Seq = tx.s.sched.after(&tx.s.sched.seq)
	at := rec.Place()
	tx.s.texts.put(c.num, &rec.Key, rec.URL)
	c.queues.queuedAt(q, rec.Priority, at)
	if h := q.Head(rec.Priority); at.Due < h.Due {
		q.SetHead(rec.Priority, at)
	}
	q.Add(1)
	tx.changedQueue(q)
	return pointer{uint32(q.ID), rec.Priority, at}
}

func (tx *txn) setQueued(c *crawl, queue uint32, rec *sched.Record) {
	tx.key = appendOrderRow(tx.key[:0], c.num, queue, rec.Priority, rec.Place())
	tx.value = appendRecord(tx.value[:0], rec)
	tx.set(tx.key, tx.value)
}
