package pebblestore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store"
)

// Two kinds of state change with every URL: its queue's state and its place. If each were a row, Pebble would have to insert it into
// its buffer, though the next groups rewrite most of them or make them obsolete. So a group's changes go into one row of
// a journal. When a journal is too large, its oldest row is removed: entries that no later row has get their own rows in the same
// batch.
//
// Guarded by Store.mu, written by the committer.

// journal is a journal of queues or of places. Guarded by Store.mu.
type journal struct {
	table   byte
	rows    []int  // how many members each has, oldest first
	members int    // of all rows
	added   int    // members, in this batch
	next    uint64 // the number of the next row; never given twice
	applied uint64 // rows before this one are in the database
	buf     []byte // the value of the last row, while it is in no batch
}

// add adds a member to the last row, or to a new one if that has so many members or is in a batch.
// The caller appends it to buf.
func (j *journal) add(tx *txn, most int) {
	if n := len(j.rows); len(j.buf) == 0 || j.rows[n-1] >= most {
		j.close(tx)
		j.rows = append(j.rows, 0)
		j.next++
	}
	j.rows[len(j.rows)-1]++
	j.members++
	j.added++
}

// oldest returns the number of the oldest row.
func (j *journal) oldest() uint64 { return j.next - uint64(len(j.rows)) }

// close puts the last row into the batch.
func (j *journal) close(tx *txn) {
	if len(j.buf) > 0 {
		tx.set(appendLongRow(nil, j.table, j.next-1), j.buf)
		j.buf = j.buf[:0]
	}
}

// write puts the last row into the batch, and removes the oldest rows that earlier batches wrote while
// there are too many members: about twice as many as were added at most, so that no batch pays for a large
// one before it. It calls keep for each row, which writes those of its members that are up to date.
func (j *journal) write(tx *txn, limit int, keep func(row uint64)) {
	j.close(tx)
	for removed := 0; j.members > limit && len(j.rows) > 1 && j.oldest() < j.applied && removed < 2*j.added && tx.err == nil; {
		keep(j.oldest())
		tx.singleDelete(appendLongRow(nil, j.table, j.oldest()))
		removed += j.rows[0]
		j.members -= j.rows[0]
		j.rows = j.rows[1:]
	}
	j.applied, j.added = j.next, 0
}

// loaded adds a row that Open found.
func (j *journal) loaded(members int) {
	j.rows = append(j.rows, members)
	j.members += members
}

// journalRows returns the values of the rows of a journal, and the number of the first of them.
// It reads from the last row back to the first number without a row: that row was removed, and so
// were all before it. Until a compaction drops them, removed rows can be many times as large as the
// journal, and a scan from the beginning would read them.
func journalRows(rows pebble.Reader, table byte) (first uint64, values [][]byte, err error) {
	it, err := rows.NewIter(bounds([]byte{table}, rowBound(table)))
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.Last(); ok; {
		if len(it.Key()) != 9 {
			return 0, nil, fmt.Errorf("cannot read journal row %x: %w", it.Key(), store.ErrCorrupt)
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, nil, err
		}
		num := binary.BigEndian.Uint64(it.Key()[1:])
		if len(values) > 0 && num != first-1 {
			break // the limit is not exact
		}
		first, values = num, append(values, bytes.Clone(value))
		limit := []byte{table}
		if first > 0 {
			limit = appendLongRow(nil, table, first-1)
		}
		ok = it.PrevWithLimit(limit) == pebble.IterValid
	}
	slices.Reverse(values)
	return first, values, it.Error()
}

// # The journal of queues
//
// The states of the queues that a large group changed go into the journal of queues. A queue row has
// the number of journal rows that were older than it. At open, a newer state in the journal replaces it.

const (
	// journalFrom is the number of queues from which on a group writes to the journal.
	journalFrom = 32
	// keptStates bounds the states in the journal: about 2 MB.
	keptStates = 50_000
	// statesOfRow bounds the states of a row, so that the removal of one is quick.
	statesOfRow = 1 << 12
)

// stateJournal is the journal of queues. Guarded by Store.mu.
type stateJournal struct {
	journal
	queues [][]*queue // those that each row has a state of; queue.journal names the row with the latest
}

// has notes that a queue's journal row has its latest state.
func (j *stateJournal) has(q *queue) {
	of := &j.queues[q.journal-1-j.oldest()]
	*of = append(*of, q)
}

// journalQueue adds the state of a queue to the journal.
func (tx *txn) journalQueue(q *queue) {
	j := &tx.s.sched.journal
	j.add(tx, statesOfRow)
	if len(j.queues) < len(j.rows) {
		j.queues = append(j.queues, nil)
	}
	q.journal = j.next
	j.has(q)
	j.buf = binary.AppendUvarint(j.buf, uint64(q.crawl().num))
	j.buf = zerocopy.AppendText(j.buf, q.Name)
	at := len(j.buf)
	j.buf = appendQueue(append(j.buf, 0, 0), q, j.next-1)
	binary.BigEndian.PutUint16(j.buf[at:], uint16(len(j.buf)-at-2)) // a state is at most about 200 bytes
	tx.s.sched.changed = true                                       // the row that has the next number
}

// writeJournal adds the last row of the journal to the batch. States that leave the journal get rows.
func (tx *txn) writeJournal() {
	j, limit := &tx.s.sched.journal, tx.s.opt.keptStates
	if tx.s.sched.Loading {
		limit = math.MaxInt // the latest state of a queue that is not loaded may be in any row
	}
	j.write(tx, limit, func(row uint64) {
		for _, q := range j.queues[0] {
			if !q.crawl().gone && !q.Retired() && q.journal == row+1 {
				tx.setQueue(q)
			}
		}
		j.queues[0] = nil
		j.queues = j.queues[1:]
	})
}

// journalState is the latest state of a queue that the journal has.
type journalState struct {
	row   uint64 // its number
	value []byte
}

// loadJournal reads the journal, with the latest state of each queue in it by the queue row's key.
func (s *Store) loadJournal() error {
	first, values, err := journalRows(s.db, tableJournal)
	if err != nil {
		return err
	}
	j := &s.sched.journal
	if next := first + uint64(len(values)); next != j.next && next > 0 {
		return fmt.Errorf("cannot read the journal of queues; got %d as the number of its next row; want %d: %w", j.next, next, store.ErrCorrupt)
	}
	j.applied, j.queues = j.next, make([][]*queue, len(values))
	s.sched.states, err = journalStates(first, values, &j.journal)
	return err
}

// journalStates returns the latest state of each queue that rows of the journal have, by the
// queue row's key, and adds the rows to j.
func journalStates(first uint64, values [][]byte, j *journal) (map[string]journalState, error) {
	states := map[string]journalState{}
	for i, row := range values {
		members := 0
		err := eachState(row, func(key, value []byte) {
			states[string(key)] = journalState{first + uint64(i), value}
			members++
		})
		if err != nil {
			return nil, err
		}
		j.loaded(members)
	}
	return states, nil
}

// newer returns the state that the journal has of a queue, if it is newer than the queue's row; else the row's.
func newer(states map[string]journalState, key, value []byte) (st journalState, journaled bool) {
	st, journaled = states[string(key)]
	r := newRowReader(value)
	r.Uvarint() // the queue's number
	if !journaled || st.row < r.Uvarint() {
		return journalState{value: value}, false
	}
	return st, true
}

// # The journal of places
//
// A key leads to its URL by its place, which is in the journal of places. Most URLs end soon after they
// were queued: only those that are in a queue when their place leaves the journal get a row of it.
//
// The end of a URL takes its place out of memory and writes nothing. A row of its place, if
// it has one, stays until the key goes: to delete it costs 2 to 3 µs. So a place may be of a
// URL that has ended: its queue row is not there, and no other URL is ever put where it was.

const (
	// keptPlaces bounds the places in the journal, at 14 to 28 bytes of memory each.
	keptPlaces = 850_000
	// leastPlace is the least number of bytes of a place in a row.
	leastPlace = keyLen + 4
	// placesOfRow bounds the places of a row, all of which are read to find one.
	placesOfRow = 64
)

// places is the journal of places. Guarded by Store.mu.
type places struct {
	journal
	// at leads from a URL to the row that has its latest place. It has hashes of the URLs, since the row has their keys. If two
	// URLs had the same hash, the place of the first would be lost; for a million URLs, the odds are 3e-8.
	at     placeTable
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

// rowCycle is how many rows have different numbers in the table. The journal never has so many at once.
const rowCycle = 1<<32 - 1

// put notes the row that has the latest place of a URL.
func (j *places) put(k *placeKey, row uint64) {
	s := newSlot(j.hash(k), row)
	j.at.put(s.hash(), s.row)
}

// row returns the number of the row that has the latest place of a URL, 0 if none has.
func (j *places) row(k *placeKey) uint64 {
	row := j.at.get(j.hash(k))
	if row == 0 {
		return 0
	}
	return j.next - (j.next+rowCycle-uint64(row-1))%rowCycle
}

func (j *places) remove(k *placeKey) { j.at.remove(j.hash(k)) }

// setPlace notes where a URL is queued, or was when it ended and its text is kept.
func (tx *txn) setPlace(c *crawl, k *store.Key, p *pointer) {
	j := &tx.s.sched.places
	j.add(tx, placesOfRow)
	j.put(&placeKey{c.num, *k}, j.next-1)
	j.buf = binary.AppendUvarint(j.buf, uint64(c.num))
	j.buf = appendPointer(append(j.buf, k[:]...), *p)
}

// deletePlace deletes the place of a key that is forgotten. If the place was written since a queue was retired, the key may still
// be in a row of that queue, and may be recorded again without a place: the journal then says no longer which keys left that queue.
func (tx *txn) deletePlace(c *crawl, k *store.Key) {
	at := placeKey{c.num, *k}
	if row := tx.s.sched.places.row(&at); row > 0 {
		for _, r := range tx.s.sched.retired {
			if r.q.crawl() == c && row >= r.since {
				r.since = 0
			}
		}
		tx.s.sched.places.remove(&at)
	}
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
	tx.fail(corruption(cmp.Or(failed, err)))
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
	retired := func(r *retired) bool { return r.q.crawl() == c && r.q.id == p.queue }
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
	size := 0
	for _, row := range values {
		size += len(row)
	}
	all := make([]placeSlot, 0, size/leastPlace) // first, so that the table need not grow
	for i, row := range values {
		before := len(all)
		err := eachPlace(row, func(at placeKey, _ pointer) {
			all = append(all, newSlot(j.hash(&at), first+uint64(i)))
		})
		if err != nil {
			return err
		}
		j.loaded(len(all) - before)
	}
	j.at = newPlaceTable(len(all))
	for _, s := range all {
		j.at.put(s.hash(), s.row)
	}
	return nil
}

// placeTable leads from hashes to numbers, which are not 0. With a map, which hashes them once more and looks at two lines of
// the cache, an Add of new URLs took a twentieth longer, and a settlement a tenth. A slot is where its hash says, or after
// other slots that begin there.
type placeTable struct {
	slots []placeSlot // as many as a power of two; those of row 0 are free
	used  int
}

// placeSlot has a hash in two halves: as one number, a slot would take 16 bytes instead of 12.
type placeSlot struct{ low, high, row uint32 }

func newSlot(hash, row uint64) placeSlot {
	return placeSlot{uint32(hash), uint32(hash >> 32), uint32(row%rowCycle) + 1}
}

func (s *placeSlot) hash() uint64 { return uint64(s.high)<<32 | uint64(s.low) }

// slot returns where a hash is, or would be.
func (t *placeTable) slot(hash uint64) int {
	mask := len(t.slots) - 1
	i := int(hash) & mask
	for t.slots[i].row != 0 && t.slots[i].hash() != hash {
		i = (i + 1) & mask
	}
	return i
}

// newPlaceTable returns a table that n hashes fit into.
func newPlaceTable(n int) placeTable {
	return placeTable{slots: make([]placeSlot, max(128, 1<<bits.Len(uint(8*n/7))))}
}

// get returns 0 for a hash that it does not have.
func (t *placeTable) get(hash uint64) uint32 {
	if t.used == 0 {
		return 0
	}
	return t.slots[t.slot(hash)].row
}

func (t *placeTable) put(hash uint64, row uint32) {
	if 8*t.used >= 7*len(t.slots) {
		old := t.slots
		*t = newPlaceTable(len(old))
		for _, s := range old {
			if s.row != 0 {
				t.put(s.hash(), s.row)
			}
		}
	}
	i := t.slot(hash)
	if t.slots[i].row == 0 {
		t.used++
	}
	t.slots[i] = placeSlot{uint32(hash), uint32(hash >> 32), row}
}

// remove moves slots that had to pass by the one that becomes free.
func (t *placeTable) remove(hash uint64) {
	if t.get(hash) == 0 {
		return
	}
	mask, free := len(t.slots)-1, t.slot(hash)
	t.slots[free] = placeSlot{}
	t.used--
	for i := (free + 1) & mask; t.slots[i].row != 0; i = (i + 1) & mask {
		if home := int(t.slots[i].low) & mask; (i-home)&mask >= (i-free)&mask {
			t.slots[free], t.slots[i] = t.slots[i], placeSlot{}
			free = i
		}
	}
}
