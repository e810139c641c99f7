package pebblestore

import (
	"encoding/binary"
	"slices"

	"github.com/firstseen/firstseen/store"
)

// A key leads to its URL by its place. A row for each place, and its deletion when the
// URL ends, would cost the fetch cycle a fifth, and most URLs end soon after they were
// queued. So the places that a group writes go into one row of a journal, and stay in
// memory until the journal has too many. Then its oldest row goes, and those of its
// places that still hold a URL get rows of their own.
//
// The end of a URL takes its place out of memory and writes nothing. A row of its place, if
// it has one, stays until the key goes: to delete it costs 2 to 3 µs. So a place may be of a
// URL that has ended: its queue row is not there, and no other URL is ever put where it was.

const (
	// keptPlaces bounds the places in the journal: 29 MB of memory, and about 50 ms of an
	// Open. With those of one group more they fit a table of a power of two.
	keptPlaces = 450_000
	// rowPlaces bounds the places of one row, so that the removal of one is quick.
	rowPlaces = 1 << 12
)

// places is the journal of places. Guarded by Store.mu.
type places struct {
	placeTable
	rows []placesRow // oldest first; the last may be in no batch yet
	next uint64      // number of the next row
	buf  []byte      // the value of the last row, while it is in no batch
}

// placesRow is a row of the journal, in memory.
type placesRow struct {
	num   uint64
	count int
	// loaded is the value that Open read, empty once it was parsed: some of the URLs may have
	// ended. Nil if the row was written since.
	loaded []byte
}

// setPlace notes where a URL is queued, or was when it ended and its text is kept.
func (tx *txn) setPlace(c *crawl, k *store.Key, p *pointer) {
	j, at := &tx.s.sched.places, placeKey{c.num, *k}
	if n := len(j.rows); len(j.buf) == 0 || j.rows[n-1].count >= rowPlaces {
		j.close(tx)
		j.rows = append(j.rows, placesRow{num: j.next})
		j.next++
	}
	j.put(newPlaceEntry(at, p))
	j.rows[len(j.rows)-1].count++
	j.buf = binary.AppendUvarint(j.buf, uint64(c.num))
	j.buf = appendPointer(append(j.buf, k[:]...), *p)
}

// deletePlace deletes the place of a key that is forgotten.
func (tx *txn) deletePlace(c *crawl, k *store.Key) {
	tx.s.sched.places.remove(placeKey{c.num, *k})
	tx.key = appendKeyRow(tx.key[:0], tablePlace, c.num, k)
	tx.delete(tx.key)
}

// findPlace returns where a URL is or was queued, the zero pointer if that is not known.
func (tx *txn) findPlace(c *crawl, k *store.Key) pointer {
	if e := tx.s.sched.places.get(placeKey{c.num, *k}); e != nil {
		return e.pointer()
	}
	p, err := readPlace(tx.reader(), c.num, k)
	tx.note(err)
	return p
}

// close puts the last row into the batch.
func (j *places) close(tx *txn) {
	if len(j.buf) > 0 {
		tx.set(appendLongRow(nil, tablePlaces, j.rows[len(j.rows)-1].num), j.buf)
		j.buf = j.buf[:0]
	}
}

// writePlaces adds the row of the places that changed, and removes the oldest rows while
// there are too many places.
func (s *Store) writePlaces(tx *txn) {
	j := &s.sched.places
	j.close(tx)
	for j.end-j.first > uint64(s.opt.keptPlaces) && len(j.rows) > 1 {
		j.retire(tx, j.rows[0])
		j.rows = j.rows[1:]
	}
}

// retire removes the oldest row. Those of its places that are the latest get rows of their own.
func (j *places) retire(tx *txn, row placesRow) {
	for range row.count {
		e, latest := j.shift()
		c := tx.s.byNum[e.crawl]
		if c == nil || !latest || row.loaded != nil && !tx.s.leads(c, &e.key, e.pointer()) {
			continue
		}
		tx.key = appendKeyRow(tx.key[:0], tablePlace, e.crawl, &e.key)
		tx.value = appendPointer(tx.value[:0], e.pointer())
		tx.set(tx.key, tx.value)
	}
	tx.singleDelete(appendLongRow(nil, tablePlaces, row.num))
}

// leads reports whether a place that Open read may lead to something.
func (s *Store) leads(c *crawl, k *store.Key, p pointer) bool {
	retired := func(r *retired) bool { return r.c == c && uint32(r.q.ID) == p.queue }
	if s.opt.KeepURLs || c.queues.Leases[*k] != nil || slices.ContainsFunc(s.sched.retired, retired) {
		return true
	}
	// This batch is not read: a URL that it queues has another place, and it writes no D row.
	return s.hasRow(appendOrderRow(nil, c.num, p.queue, p.priority, p.at)) || s.hasRow(appendDoneRow(nil, c.num, p.queue, k))
}

// hasRow reports whether a row is in the database, or cannot be read.
func (s *Store) hasRow(key []byte) (has bool) {
	err := readRow(s.db, key, func([]byte) error {
		has = true
		return nil
	})
	return has || err != nil
}

// loadPlaces reads the journal of places. Its places are found after parse.
func (s *Store) loadPlaces() error {
	j := &places{next: 1}
	j.secret = binary.LittleEndian.Uint64(s.secret[:])
	first, values, err := journalRows(s.db, tablePlaces)
	for i, value := range values {
		j.rows = append(j.rows, placesRow{num: first + uint64(i), loaded: value})
	}
	j.next = max(j.next, first+uint64(len(values)))
	s.learning = j
	return err
}

// parse puts the places of the rows that Open read into the table.
func (j *places) parse() error {
	var all []placeEntry
	for i := range j.rows {
		row := &j.rows[i]
		err := eachPlace(row.loaded, func(at placeKey, p pointer) {
			row.count++
			all = append(all, newPlaceEntry(at, &p))
		})
		if err != nil {
			return err
		}
		row.loaded = []byte{}
	}
	j.fill(all)
	return nil
}

// eachPlace calls f for each place of a row.
func eachPlace(row []byte, f func(at placeKey, p pointer)) error {
	r := newRowReader(row)
	for len(r.B) > 0 {
		at := placeKey{crawl: uint32(r.Uvarint())}
		copy(at.key[:], r.Take(keyLen))
		p := r.pointer()
		if r.Bad {
			break
		}
		f(at, p)
	}
	return r.end("row of places", row)
}
