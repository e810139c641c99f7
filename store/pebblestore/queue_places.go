package pebblestore

import (
	"encoding/binary"
	"slices"

	"github.com/firstseen/firstseen/store"
)

// A key leads to its URL by its place, which is in the journal of places. Most URLs end soon after they
// were queued: only those that are in a queue when their place leaves the journal get a row of it.
//
// The end of a URL takes its place out of memory and writes nothing. A row of its place, if
// it has one, stays until the key goes: to delete it costs 2 to 3 µs. So a place may be of a
// URL that has ended: its queue row is not there, and no other URL is ever put where it was.

// keptPlaces bounds the places in the journal: 29 MB of memory, and about 50 ms of an
// Open. With those of one group more they fit a table of a power of two.
const keptPlaces = 450_000

// places is the journal of places. Guarded by Store.mu.
type places struct {
	placeTable
	found  [][]byte // the rows that Open found, until they are parsed
	parsed uint64   // members before this one are from these: some of the URLs may have ended
}

// setPlace notes where a URL is queued, or was when it ended and its text is kept.
func (tx *txn) setPlace(c *crawl, k *store.Key, p *pointer) {
	j := &tx.s.sched.places
	j.begin(tx)
	j.put(newPlaceEntry(placeKey{c.num, *k}, p))
	j.buf = binary.AppendUvarint(j.buf, uint64(c.num))
	j.buf = appendPointer(append(j.buf, k[:]...), *p)
}

// deletePlace deletes the place of a key that is forgotten.
func (tx *txn) deletePlace(c *crawl, k *store.Key) {
	tx.s.sched.places.remove(placeKey{c.num, *k})
	tx.key = appendKeyRow(tx.key[:0], tablePlace, c.num, k)
	tx.delete(tx.key)
}

// writePlaces adds the last row of places to the batch. Those that leave the journal get rows.
func (tx *txn) writePlaces() {
	j := &tx.s.sched.places
	j.write(tx, tx.s.opt.keptPlaces, func(e *placeEntry) {
		if c := tx.s.byNum[e.crawl]; c != nil && (j.first >= j.parsed || tx.s.leads(c, &e.key, e.pointer())) {
			tx.key = appendKeyRow(tx.key[:0], tablePlace, e.crawl, &e.key)
			tx.value = appendPointer(tx.value[:0], e.pointer())
			tx.set(tx.key, tx.value)
		}
		j.remove(e.placeKey)
	})
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
	first, values, err := journalRows(s.db, tablePlaces)
	j := &places{found: values}
	j.table, j.next, j.secret = tablePlaces, max(1, first+uint64(len(values))), binary.LittleEndian.Uint64(s.secret[:])
	s.learning = j
	return err
}

// parse puts the places of the rows that Open found into the table.
func (j *places) parse() error {
	for _, row := range j.found {
		j.rows = append(j.rows, 0)
		if err := eachPlace(row, func(at placeKey, p pointer) { j.put(newPlaceEntry(at, &p)) }); err != nil {
			return err
		}
	}
	j.found, j.parsed = nil, j.end
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
