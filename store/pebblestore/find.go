package pebblestore

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A known key leads to its URL by its lease in memory, or by its place: in the journal of places, or in its S row.
// Steps look up many keys at once, in each table in the order of its rows, which is several times as fast as one by one.

// found is where a known key is.
type found struct {
	state store.State // SeenOnly: no queue, lease or record
	ptr   pointer     // of its place; not looked up for a lease
	queue *queue
	lease *sched.Lease
	rec   sched.Record
}

// text reports whether the text of the URL is kept.
func (f *found) text() bool { return f.state != store.SeenOnly }

func (f *found) held() bool { return f.state == store.Queued || f.state == store.Leased }

// sought is a URL to find, and the result.
type sought struct {
	found
	key     store.Key
	token   uint64 // of the lease
	row     uint64 // of the journal, which has its place; 0 for none
	item    uint32
	version uint64 // of the cache, before anything was read
}

func (l *sought) compare(k store.Key) int { return bytes.Compare(l.key[:], k[:]) }

// rowsOfURL is the cost of finding one URL, in rows scanned: its place, its row, its queue, and the new first URL there.
const rowsOfURL = 4

// findOne finds a key of c that the index knows.
func (tx *txn) findOne(c *crawl, k *store.Key) (found, error) {
	list := []sought{{key: *k}}
	err := tx.findAll(c, list)
	f := &list[0].found
	if f.lease != nil && err == nil {
		f.rec, err = tx.withTexts(f.lease)
	}
	return *f, err
}

// findAll finds keys of c that the index knows. A lease may lack texts, which only its row has.
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
		if f := &list[i].found; err == nil && f.text() && f.lease == nil {
			if f.queue, err = tx.numberedQueue(c, f.ptr.queue); f.queue == nil {
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
	return found{state: store.Leased, queue: queueOf(l.Queue), lease: l, rec: l.Record}
}

// findPlaces reads the places of URLs that are not leased, after locate, and returns the URLs that have one.
func findPlaces(rows pebble.Reader, crawl uint32, list []sought) ([]*sought, error) {
	placed := make([]*sought, 0, len(list))
	for i := range list {
		if list[i].lease == nil {
			placed = append(placed, &list[i])
		}
	}
	slices.SortFunc(placed, func(a, b *sought) int { return cmp.Or(cmp.Compare(a.row, b.row), a.compare(b.key)) })
	left := placed // from the first of the row that is read next
	err := inTable(rows, tablePlaces, placed, func(r rowGetter, l *sought) error {
		if len(left) == 0 || l != left[0] {
			return nil
		}
		n := 1
		for n < len(left) && left[n].row == l.row {
			n++
		}
		same := left[:n]
		if left = left[n:]; l.row == 0 {
			return nil
		}
		return readRow(r, appendLongRow(nil, tablePlaces, l.row), func(row []byte) error {
			return eachPlace(row, func(at placeKey, p pointer) { // the last one of a key counts
				i, found := slices.BinarySearchFunc(same, at.key, (*sought).compare)
				for found = found && at.crawl == crawl; found && i < len(same) && same[i].key == at.key; i++ {
					same[i].ptr = p
				}
			})
		})
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

// readPlace reads the row of the place of a URL, the zero pointer if it has none.
func readPlace(rows rowGetter, crawl uint32, k *store.Key) (p pointer, err error) {
	err = readRow(rows, appendKeyRow(nil, tablePlace, crawl, k), func(row []byte) (err error) {
		p, err = parsePointer(row)
		return err
	})
	return p, err
}

// manyRows is how many reads of single rows, in order, are worth an iterator.
const manyRows = 16

// inTable calls read for each item of a list, with a reader of a table.
func inTable[T any](rows pebble.Reader, table byte, list []T, read func(rowGetter, T) error) (err error) {
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
		e := f.rec.Entry(&f.queue.Queue)
		e.State = f.state
		return e
	}
	return store.Entry{Key: *k, Crawl: c.name}
}
