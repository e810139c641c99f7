package pebblestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/firstseen/firstseen/store"
)

// A key leads to its URL by its place, which is in the journal of places. Most URLs end soon after they
// were queued: only those that are in a queue when their place leaves the journal get a row of it.
//
// The end of a URL takes its place out of memory and writes nothing. A row of its place, if
// it has one, stays until the key goes: to delete it costs 2 to 3 µs. So a place may be of a
// URL that has ended: its queue row is not there, and no other URL is ever put where it was.

const (
	// keptPlaces bounds the places in the journal. With those of one group more they fit a table of
	// 2^20 slots, 12.6 MB of memory. An Open reads them in about 0.1 s.
	keptPlaces = 850_000
	// placesOfRow bounds the places of a row, all of which are read to find one.
	placesOfRow = 64
)

// places is the journal of places. Guarded by Store.mu.
type places struct {
	journal
	// at leads from a URL to the row that has its latest place. It has hashes of the URLs, since the row has their keys. If two
	// URLs had the same hash, the place of the first would be lost; for a million URLs, the odds are 3e-8.
	at     map[uint64]uint64
	secret [2]uint64 // of the hashes, unknown to the authors of URLs
	found  uint64    // rows before this one are from an Open: some of their URLs may have ended
}

// placeKey names a URL of any crawl.
type placeKey struct {
	crawl uint32
	key   store.Key
}

func (j *places) hash(k *placeKey) uint64 {
	a, b := binary.LittleEndian.Uint64(k.key[:]), binary.LittleEndian.Uint64(k.key[8:])
	high, low := bits.Mul64(a^j.secret[0], b^j.secret[1])
	return high ^ low ^ uint64(k.crawl)*0x9e3779b97f4a7c15
}

// row returns the number of the row that has the latest place of a URL, 0 if none has.
func (j *places) row(k *placeKey) uint64 { return j.at[j.hash(k)] }

func (j *places) remove(k *placeKey) { delete(j.at, j.hash(k)) }

// setPlace notes where a URL is queued, or was when it ended and its text is kept.
func (tx *txn) setPlace(c *crawl, k *store.Key, p *pointer) {
	j := &tx.s.sched.places
	j.add(tx, placesOfRow)
	j.at[j.hash(&placeKey{c.num, *k})] = j.next - 1
	j.buf = binary.AppendUvarint(j.buf, uint64(c.num))
	j.buf = appendPointer(append(j.buf, k[:]...), *p)
}

// deletePlace deletes the place of a key that is forgotten.
func (tx *txn) deletePlace(c *crawl, k *store.Key) {
	tx.s.sched.places.remove(&placeKey{c.num, *k})
	tx.key = appendKeyRow(tx.key[:0], tablePlace, c.num, k)
	tx.delete(tx.key)
}

// writePlaces adds the last row of places to the batch. Those that leave the journal get rows.
func (tx *txn) writePlaces() {
	tx.s.sched.places.write(tx, tx.s.opt.keptPlaces, tx.keepPlaces)
}

// keepPlaces writes rows of those places of a row of the journal that are up to date.
func (tx *txn) keepPlaces(row uint64) {
	key := appendLongRow(nil, tablePlaces, row)
	err := fmt.Errorf("cannot find journal row %x: %w", key, store.ErrCorrupt)
	failed := readRow(tx.s.db, key, func(value []byte) error {
		err = tx.keepPlacesIn(row, value)
		return err
	})
	tx.note(corruption(cmp.Or(failed, err)))
}

func (tx *txn) keepPlacesIn(row uint64, value []byte) error {
	j := &tx.s.sched.places
	err := eachPlace(value, func(at placeKey, p pointer) {
		if c := tx.s.byNum[at.crawl]; c != nil && j.row(&at) == row && (row >= j.found || tx.s.leads(c, &at.key, p)) {
			tx.key = appendKeyRow(tx.key[:0], tablePlace, at.crawl, &at.key)
			tx.value = appendPointer(tx.value[:0], p)
			tx.set(tx.key, tx.value)
		}
	})
	return errors.Join(err, eachPlace(value, func(at placeKey, _ pointer) { // after all: a URL can be in a row twice
		if j.row(&at) == row {
			j.remove(&at)
		}
	}))
}

// leads reports whether a place that Open read may lead to something.
func (s *Store) leads(c *crawl, k *store.Key, p pointer) bool {
	retired := func(r *retired) bool { return r.q.c == c && r.q.id == p.queue }
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

// loadPlaces reads the journal of places.
func (s *Store) loadPlaces() error {
	first, values, err := journalRows(s.db, tablePlaces)
	if err != nil {
		return err
	}
	j := &s.sched.places
	j.table, j.next = tablePlaces, max(1, first+uint64(len(values)))
	j.applied, j.found = j.next, j.next
	j.secret = [2]uint64{binary.LittleEndian.Uint64(s.secret[:]), binary.LittleEndian.Uint64(s.secret[8:])}
	j.at = make(map[uint64]uint64)
	for i, row := range values {
		members := 0
		err := eachPlace(row, func(at placeKey, _ pointer) {
			j.at[j.hash(&at)] = first + uint64(i)
			members++
		})
		if err != nil {
			return err
		}
		j.loaded(members)
	}
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
