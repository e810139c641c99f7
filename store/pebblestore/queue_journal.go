package pebblestore

import (
	"encoding/binary"
	"fmt"

	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
)

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

// has notes that a row has the latest state of a queue.
func (j *stateJournal) has(q *queue, row uint64) {
	q.journal = row + 1
	of := &j.queues[row-j.oldest()]
	*of = append(*of, q)
}

// journalQueue adds the state of a queue to the journal.
func (tx *txn) journalQueue(q *queue) {
	j := &tx.s.sched.journal
	j.add(tx, statesOfRow)
	if len(j.queues) < len(j.rows) {
		j.queues = append(j.queues, nil)
	}
	j.has(q, j.next-1)
	j.buf = binary.AppendUvarint(j.buf, uint64(q.c.num))
	j.buf = fields.AppendText(j.buf, q.Name)
	at := len(j.buf)
	j.buf = appendQueue(append(j.buf, 0, 0), q, j.next-1)
	binary.BigEndian.PutUint16(j.buf[at:], uint16(len(j.buf)-at-2)) // a state is at most about 200 bytes
	tx.s.sched.changed = true                                       // the row that has the next number
}

// writeJournal adds the last row of the journal to the batch. States that leave the journal get rows.
func (tx *txn) writeJournal() {
	j := &tx.s.sched.journal
	j.write(tx, tx.s.opt.keptStates, func(row uint64) {
		for _, q := range j.queues[0] {
			if !q.c.gone && !q.Retired() && q.journal == row+1 {
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

// loadJournal reads the journal, and returns the latest state of each queue in
// it by the queue row's key.
func (s *Store) loadJournal() (map[string]journalState, error) {
	first, values, err := journalRows(s.db, tableJournal)
	if err != nil {
		return nil, err
	}
	j := &s.sched.journal
	if next := first + uint64(len(values)); next != j.next && next > 0 {
		return nil, fmt.Errorf("cannot read the journal of queues; got %d as the number of its next row; want %d: %w", j.next, next, store.ErrCorrupt)
	}
	j.applied, j.queues = j.next, make([][]*queue, len(values))
	return journalStates(first, values, &j.journal)
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

// eachState calls f for each state in a journal row, with the key of its queue's row, which
// is valid during the call.
func eachState(row []byte, f func(key, value []byte)) error {
	r := newRowReader(row)
	var key []byte
	for len(r.B) > 0 {
		key = appendNumbered(key[:0], tableQueue, uint32(r.Uvarint()))
		key = append(key, r.Text()...)
		value := r.Take(int(r.Byte())<<8 | int(r.Byte()))
		if !r.Bad {
			f(key, value)
		}
	}
	return r.end("journal row", row)
}

// newer returns the state that the journal has of a queue, if it is newer than the queue's row.
func newer(states map[string]journalState, key, value []byte) (journalState, bool) {
	st, ok := states[string(key)]
	r := newRowReader(value)
	r.Uvarint() // the queue's number
	return st, ok && st.row >= r.Uvarint()
}
