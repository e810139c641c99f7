package pebblestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A key leads to its URL by its place. A row for each place, and its deletion when the
// URL ends, would cost the fetch cycle a fifth, and most URLs end soon after they were
// queued. So the places that a group writes go into one row of a journal, and stay in
// memory until the journal has too many. Then its oldest row goes, and those of its
// places that still hold a URL get rows of their own.
//
// The end of a URL takes its place out of memory and writes nothing. So after a crash a
// place may name a URL that has ended: its queue row is not there, and no other URL is
// ever put where it was.

const (
	// keptPlaces bounds the places in the journal: 20 MB of memory, and 50 ms of an Open.
	keptPlaces = 1 << 18
	// rowPlaces bounds the places of one row, so that the removal of one is quick.
	rowPlaces = 1 << 12
	// endedPlaces is how many rows of places are deleted together: in order they cost half.
	endedPlaces = 1 << 12
)

// placeKey names a URL of any crawl.
type placeKey struct {
	crawl uint32
	key   store.Key
}

func (k placeKey) compare(b placeKey) int {
	return cmp.Or(cmp.Compare(k.crawl, b.crawl), k.key.Compare(b.key))
}

// keptPlace is a place in memory. It has no pointers, and no more bits than it needs,
// since there are many.
type keptPlace struct {
	queue, row uint32 // row of the journal, counted from the first since open
	due        int64
	rest       uint64 // seq << 4 | hasRow << 3 | priority
}

// hasRow is set in keptPlace.rest if the URL may also have a row with an older place.
const hasRow = 1 << 3

func (p keptPlace) pointer() pointer {
	return pointer{p.queue, uint8(p.rest & 7), sched.Head{Due: p.due, Seq: p.rest >> 4}}
}

// places is the journal of places. Guarded by Store.mu.
type places struct {
	at    map[placeKey]keptPlace // the latest places, of URLs that have not ended
	rows  []placesRow            // oldest first; the last may be in no batch yet
	first uint32                 // which row the first of rows is, counted from the first since open
	next  uint64                 // number of the next row
	count int                    // places in rows
	buf   []byte                 // the value of the last row, while it is in no batch
	ended []placeKey             // whose rows are to be deleted
}

// placesRow is what is remembered of a row.
type placesRow struct {
	num    uint64
	keys   []placeKey
	loaded bool // by Open: some of the URLs may have ended
}

func appendPlacesRow(dst []byte, num uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tablePlaces), num)
}

// setPlace notes where a URL is queued, or was when it ended and its text is kept.
func (tx *txn) setPlace(c *crawl, k *store.Key, p *pointer, known bool) {
	j, at := &tx.s.sched.places, placeKey{c.num, *k}
	if n := len(j.rows); len(j.buf) == 0 || len(j.rows[n-1].keys) >= rowPlaces {
		j.close(tx)
		j.open()
	}
	row := &j.rows[len(j.rows)-1]
	row.keys = append(row.keys, at)
	j.count++
	kept := keptPlace{p.queue, j.first + uint32(len(j.rows)-1), p.at.Due, p.at.Seq<<4 | uint64(p.priority)}
	if known {
		if old, ok := j.at[at]; !ok || old.rest&hasRow != 0 {
			kept.rest |= hasRow
		}
	}
	j.at[at] = kept
	j.buf = binary.AppendUvarint(j.buf, uint64(c.num))
	j.buf = appendPointer(append(j.buf, k[:]...), *p)
}

// endPlace notes that a URL ended whose text is not kept.
func (tx *txn) endPlace(c *crawl, k *store.Key) {
	j, at := &tx.s.sched.places, placeKey{c.num, *k}
	p, ok := j.at[at]
	delete(j.at, at)
	if !ok || p.rest&hasRow != 0 {
		j.ended = append(j.ended, at)
	}
}

// deletePlace deletes the place of a key that is forgotten.
func (tx *txn) deletePlace(c *crawl, k *store.Key) {
	delete(tx.s.sched.places.at, placeKey{c.num, *k})
	tx.key = appendKeyRow(tx.key[:0], tablePlace, c.num, k)
	tx.delete(tx.key)
}

// findPlace returns where a URL is or was queued, the zero pointer if that is not known.
func (tx *txn) findPlace(c *crawl, k *store.Key) pointer {
	if p, ok := tx.s.sched.places.at[placeKey{c.num, *k}]; ok {
		return p.pointer()
	}
	tx.key = appendKeyRow(tx.key[:0], tablePlace, c.num, k)
	row, closer, ok := tx.get(tx.reader(), tx.key)
	if !ok {
		return pointer{}
	}
	p, err := parsePointer(row)
	tx.note(err)
	tx.note(closer.Close())
	return p
}

// open begins a row.
func (j *places) open() {
	j.rows = append(j.rows, placesRow{num: j.next})
	j.next++
}

// close puts the last row into the batch.
func (j *places) close(tx *txn) {
	if len(j.buf) > 0 {
		tx.key = appendPlacesRow(tx.key[:0], j.rows[len(j.rows)-1].num)
		tx.set(tx.key, j.buf)
		j.buf = j.buf[:0]
	}
}

// writePlaces adds the row of the places that changed, and removes the oldest rows while
// there are too many places.
func (s *Store) writePlaces(tx *txn) {
	j := &s.sched.places
	j.close(tx)
	full := j.count > s.opt.keptPlaces && len(j.rows) > 1
	if full || len(j.ended) >= endedPlaces {
		j.deleteEnded(tx) // before rows are written: a URL that ended may have been queued again
	}
	for j.count > s.opt.keptPlaces && len(j.rows) > 1 {
		j.retire(tx, &j.rows[0])
		j.count -= len(j.rows[0].keys)
		j.rows[0] = placesRow{}
		j.rows = j.rows[1:]
		j.first++
	}
}

// deleteEnded deletes the rows of URLs that have ended.
func (j *places) deleteEnded(tx *txn) {
	slices.SortFunc(j.ended, placeKey.compare)
	for i := range j.ended {
		tx.key = appendKeyRow(tx.key[:0], tablePlace, j.ended[i].crawl, &j.ended[i].key)
		tx.delete(tx.key)
	}
	j.ended = j.ended[:0]
}

// retire removes the oldest row. Its places that are the latest get rows of their own.
func (j *places) retire(tx *txn, row *placesRow) {
	for i := range row.keys {
		at := &row.keys[i]
		p, ok := j.at[*at]
		if !ok || p.row != j.first {
			continue
		}
		delete(j.at, *at)
		c := tx.s.byNum[at.crawl]
		if c == nil || row.loaded && !tx.s.leads(c, &at.key, p.pointer()) {
			continue
		}
		tx.key = appendKeyRow(tx.key[:0], tablePlace, at.crawl, &at.key)
		tx.value = appendPointer(tx.value[:0], p.pointer())
		tx.set(tx.key, tx.value)
	}
	tx.key = appendPlacesRow(tx.key[:0], row.num)
	tx.singleDelete(tx.key)
}

// leads reports whether a place that Open read may lead to something.
func (s *Store) leads(c *crawl, k *store.Key, p pointer) bool {
	if s.opt.KeepURLs || s.queuesOf(c).Leases[*k] != nil {
		return true
	}
	// This batch is not read: a URL that it queues has another place.
	_, closer, err := s.db.Get(appendOrderRow(nil, c.num, p.queue, p.priority, p.at))
	if err == nil {
		err = closer.Close()
	}
	return !errors.Is(err, pebble.ErrNotFound)
}

// loadPlaces reads the journal of places.
func (s *Store) loadPlaces() error {
	j := &s.sched.places
	j.at, j.next = map[placeKey]keptPlace{}, 1
	return s.scan([]byte{tablePlaces}, rowBound(tablePlaces), func(key, value []byte) error {
		if len(key) != 9 {
			return fmt.Errorf("cannot read row of places %x: %w", key, store.ErrCorrupt)
		}
		row := placesRow{num: binary.BigEndian.Uint64(key[1:]), loaded: true}
		err := eachPlace(value, func(at placeKey, p pointer) {
			row.keys = append(row.keys, at)
			j.at[at] = keptPlace{p.queue, uint32(len(j.rows)), p.at.Due, p.at.Seq<<4 | uint64(p.priority)}
		})
		j.rows, j.count, j.next = append(j.rows, row), j.count+len(row.keys), row.num+1
		return err
	})
}

// eachPlace calls f for each place of a row.
func eachPlace(row []byte, f func(at placeKey, p pointer)) error {
	r := readRow(row)
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
