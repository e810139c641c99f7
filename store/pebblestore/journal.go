package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// Every URL that comes or goes changes its queue's state, and one that comes has a new place. Pebble
// would find a place in memory for a row of each, most of which the next groups write again or do not
// need any more. So what a group changed goes into one row of a journal. When the journal has too
// much, its oldest row is removed: what no later row has gets a row of its own in the same batch.

// journal is a journal of queues or of places: its members, in the order of their rows. A member that
// is out of date is the zero value. Guarded by Store.mu.
type journal[T comparable] struct {
	table      byte
	rows       []int  // how many members each has, oldest first
	next       uint64 // the number of the next row; never given twice
	buf        []byte // the value of the last row, while it is in no batch
	ring       []T    // the members; its length is a power of two
	first, end uint64 // numbers of the members
}

// rowMembers bounds the members of one row, so that the removal of one is quick.
const rowMembers = 1 << 12

// at returns the member of a number.
func (j *journal[T]) at(n uint64) *T { return &j.ring[n&uint64(len(j.ring)-1)] }

// begin adds a row, unless there is one that another member can be put into.
func (j *journal[T]) begin(tx *txn) {
	if n := len(j.rows); len(j.buf) == 0 || j.rows[n-1] >= rowMembers {
		j.close(tx)
		j.rows = append(j.rows, 0)
		j.next++
	}
}

// push adds a member to the last row. The caller appends it to buf.
func (j *journal[T]) push(m T) {
	if j.end-j.first == uint64(len(j.ring)) {
		old := *j
		j.ring = make([]T, max(64, 2*len(j.ring)))
		for n := j.first; n < j.end; n++ {
			*j.at(n) = *old.at(n)
		}
	}
	*j.at(j.end) = m
	j.end++
	j.rows[len(j.rows)-1]++
}

// close puts the last row into the batch.
func (j *journal[T]) close(tx *txn) {
	if len(j.buf) > 0 {
		tx.set(appendLongRow(nil, j.table, j.next-1), j.buf)
		j.buf = j.buf[:0]
	}
}

// write puts the last row into the batch, and removes the oldest rows while there are too many
// members. It calls keep for those of their members that are up to date.
func (j *journal[T]) write(tx *txn, limit int, keep func(m *T)) {
	j.close(tx)
	for j.end-j.first > uint64(limit) && len(j.rows) > 1 {
		for range j.rows[0] {
			j.shift(keep)
		}
		tx.singleDelete(appendLongRow(nil, j.table, j.next-uint64(len(j.rows))))
		j.rows = j.rows[1:]
	}
}

// shift removes the oldest member, and calls keep for it if it is up to date.
func (j *journal[T]) shift(keep func(m *T)) {
	var none T
	if m := j.at(j.first); *m != none {
		keep(m)
		*m = none
	}
	j.first++
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
