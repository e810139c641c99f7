package pebblestore

import (
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A client may lease as many URLs as it likes, each with a URL and metadata of 128 KiB. So a
// lease keeps at most leaseBytes of them in memory. Whatever needs longer ones reads the
// row of the lease, which is there as long as the lease.

// whole returns the record of a lease with the texts that only its row has.
func (tx *txn) whole(l *sched.Lease) sched.Record {
	rec := l.Record
	if rec.Cut { // reader costs a batch its speed
		tx.note(readTexts(tx.reader(), l.Token, &rec))
	}
	return rec
}

// readTexts reads the texts of a lease from its row.
func readTexts(rows rowGetter, token uint64, rec *sched.Record) error {
	key, k := appendLongRow(nil, tableLease, token), rec.Key
	rec.Cut = true
	err := readRow(rows, key, func(value []byte) error {
		row, err := parseLease(key, value)
		rec.URL, rec.Meta, rec.Cut = row.rec.URL, row.rec.Meta, false
		return err
	})
	if err == nil && rec.Cut {
		err = fmt.Errorf("cannot read lease %d of key %x; got no row: %w", token, k[:], store.ErrCorrupt)
	}
	return err
}

// writeLease writes the row of a lease, and shortens the lease.
func (tx *txn) writeLease(l *sched.Lease) {
	tx.key = appendLongRow(tx.key[:0], tableLease, l.Token)
	tx.value = appendLease(tx.value[:0], l)
	tx.set(tx.key, tx.value)
	l.Shorten(tx.s.opt.leaseBytes)
}
