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
