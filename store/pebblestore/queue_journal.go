package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Every URL that comes or goes changes its queue's state. A group of a thousand
// URLs of as many hosts would write a thousand queue rows, each of which Pebble
// finds a place for in memory, and most of which the next groups write again.
// So the states that a big group changed go into one row of a journal. A queue's
// own row is written when the queue leaves memory, or when the journal is
// long and the queue's latest state is in its oldest row: then that row can go.
//
// A queue row has the number of journal rows that were older than it. At open, a newer
// state in the journal replaces it.

// journal is the journal of a store. Guarded by Store.mu.
type journal struct {
	next uint64       // the number of the next row; never given twice
	rows []journalRow // that are in the database, oldest first
	size int          // bytes of their values
	buf  []byte       // the value of the row being made
}

// journalRow is what the journal remembers of a row.
type journalRow struct {
	num    uint64
	size   int
	queues []*sched.Queue // whose state it has or had
}

// put notes that the latest state of q is in the row.
func (r *journalRow) put(q *sched.Queue) {
	r.queues = append(r.queues, q)
	q.Journal = r.num + 1
}

const (
	// journalFrom is the number of changed queues from which on a group writes
	// to the journal.
	journalFrom = 32
	// journalSize is the size from which on its oldest row is done away with:
	// about 50,000 states.
	journalSize = 2 << 20
)

// journals reports whether a queue that changed may be in the journal: a new one needs
// a row, to be found by its name, and so does one that holds nothing any more.
func journals(q *sched.Queue) bool {
	return q.Marks&(markChanged|markNew) == markChanged && q.Held() > 0
}

// openJournal begins a row if enough queues changed.
func (sc *scheduler) openJournal(from int) bool {
	n := 0
	for _, q := range sc.queues {
		if journals(q) {
			n++
		}
	}
	if n < from {
		return false
	}
	j := &sc.journal
	j.rows = append(j.rows, journalRow{num: j.next, queues: make([]*sched.Queue, 0, n)})
	j.next++
	j.buf = j.buf[:0]
	sc.changed = true // the row that has the next number
	return true
}

// add adds the state of a queue to the row.
func (j *journal) add(crawl uint32, q *sched.Queue) {
	row := &j.rows[len(j.rows)-1]
	row.put(q)
	j.buf = binary.AppendUvarint(j.buf, uint64(crawl))
	j.buf = binary.AppendUvarint(j.buf, uint64(len(q.Name)))
	j.buf = append(j.buf, q.Name...)
	at := len(j.buf)
	j.buf = appendQueue(append(j.buf, 0, 0), q, row.num)
	binary.BigEndian.PutUint16(j.buf[at:], uint16(len(j.buf)-at-2)) // a state is at most about 200 bytes
}

// close writes the row, and removes the oldest while the journal is too long. What is still the
// latest state of a queue goes into a row of its own.
func (j *journal) close(tx *txn) {
	row := &j.rows[len(j.rows)-1]
	row.size = len(j.buf)
	j.size += row.size
	tx.set(appendLongRow(nil, tableJournal, row.num), j.buf)
	for j.size > tx.s.opt.journalSize && len(j.rows) > 1 {
		old := &j.rows[0]
		for _, q := range old.queues {
			if c := tx.s.crawlOf(q); c != nil && q.Journal == old.num+1 {
				tx.setQueue(c, q)
			}
		}
		tx.singleDelete(appendLongRow(nil, tableJournal, old.num))
		j.size -= old.size
		*old = journalRow{}
		j.rows = j.rows[1:]
	}
}

// setQueue writes the row of a queue.
func (tx *txn) setQueue(c *crawl, q *sched.Queue) {
	q.Journal = 0
	tx.key = appendQueueRow(tx.key[:0], c.num, q.Name)
	tx.value = appendQueue(tx.value[:0], q, tx.s.sched.journal.next)
	tx.set(tx.key, tx.value)
}

// journalState is the latest state of a queue that the journal has, and the number of its row.
type journalState struct {
	num   uint64
	value []byte
}

// loadJournal reads the journal, and returns the latest state of each queue in
// it by the queue row's key.
func (s *Store) loadJournal() (map[string]journalState, error) {
	first, values, err := journalRows(s.db, tableJournal)
	if err != nil {
		return nil, err
	}
	j := &s.sched.journal
	for i, value := range values {
		j.rows = append(j.rows, journalRow{num: first + uint64(i), size: len(value)})
		j.size += len(value)
	}
	if end := first + uint64(len(values)); end > j.next {
		return nil, fmt.Errorf("cannot read journal row %d; got fewer than %d rows ever: %w", end-1, end, store.ErrCorrupt)
	}
	return journalStates(first, values)
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

// journalStates returns the latest state of each queue that rows of the journal have, by the
// queue row's key.
func journalStates(first uint64, values [][]byte) (map[string]journalState, error) {
	states := map[string]journalState{}
	for i, row := range values {
		err := eachState(row, func(key, value []byte) { states[string(key)] = journalState{first + uint64(i), value} })
		if err != nil {
			return nil, err
		}
	}
	return states, nil
}

// eachState calls f for each state in a journal row, with the key of its queue's row, which
// is valid during the call.
func eachState(row []byte, f func(key, value []byte)) error {
	r := newRowReader(row)
	var key []byte
	for len(r.B) > 0 {
		key = appendNumbered(key[:0], tableQueue, uint32(r.Uvarint()))
		key = append(key, r.Take(int(min(r.Uvarint(), store.MaxQueueKey+1)))...)
		size := r.Take(2)
		if r.Bad {
			break
		}
		value := r.Take(int(binary.BigEndian.Uint16(size)))
		if r.Bad {
			break
		}
		f(key, value)
	}
	return r.end("journal row", row)
}

// newer returns the state that the journal has of a queue, if it is newer than the queue's row.
func newer(states map[string]journalState, key, value []byte) (journalState, bool) {
	st, ok := states[string(key)]
	return st, ok && st.num >= rowAge(value)
}

// rowAge returns how many journal rows are older than a queue row.
func rowAge(value []byte) uint64 {
	r := newRowReader(value)
	r.Uvarint() // the queue's number
	return r.Uvarint()
}
