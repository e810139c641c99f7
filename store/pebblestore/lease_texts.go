package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A client may lease as many URLs as it likes, each with a URL and metadata of 128 KiB. So a
// lease keeps at most leaseBytes of them in memory. Whatever needs longer ones reads the
// row of the lease, which is there as long as the lease.

// whole returns the record of a lease with the texts that only its row has.
func (tx *txn) whole(l *sched.Lease) sched.Record {
	if !l.Cut {
		return l.Record // without reader, which costs a batch its speed
	}
	return tx.readTexts(tx.reader(), l)
}

func (tx *txn) readTexts(r pebble.Reader, l *sched.Lease) sched.Record {
	rec := l.Record
	tx.key = appendLongRow(tx.key[:0], tableLease, l.Token)
	err := readRow(r, tx.key, func(value []byte) error {
		row, err := parseLease(tx.key, value)
		rec.URL, rec.Meta, rec.Cut = row.rec.URL, row.rec.Meta, false
		return err
	})
	if err == nil && rec.Cut {
		err = fmt.Errorf("cannot read lease %d of key %x; got no row: %w", l.Token, l.Key[:], store.ErrCorrupt)
	}
	tx.note(err)
	return rec
}

// writeLease writes the row of a lease, and shortens the lease.
func (tx *txn) writeLease(l *sched.Lease) {
	tx.key = appendLongRow(tx.key[:0], tableLease, l.Token)
	tx.value = appendLease(tx.value[:0], l)
	tx.set(tx.key, tx.value)
	l.Shorten(tx.s.opt.leaseBytes)
}

// fromCommitter finds the URLs that leases had in rows only while the others were found. Rows of
// a snapshot may be of an earlier lease, those of a step are not.
func (s *Store) fromCommitter(ctx context.Context, c *crawl, list []sought) error {
	var left []*sought
	for i := range list {
		if list[i].cut {
			left = append(left, &list[i])
		}
	}
	for some := range slices.Chunk(left, listRows) {
		answers, err := ask(ctx, s, func(tx *txn) ([]sought, error) {
			answers := make([]sought, len(some))
			for i, l := range some {
				if s.byNum[c.num] == c { // or it was forgotten
					f := tx.find(c, &l.key)
					answers[i].text = f.rec.URL
				}
			}
			return answers, nil
		})
		if err != nil {
			return err
		}
		for i, l := range some {
			l.text = answers[i].text
		}
	}
	return nil
}

// ended reports whether an error only means that no more steps are taken, or that the caller
// does not wait for one.
func ended(ctx context.Context, err error) bool {
	return errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrClosed) || ctx.Err() != nil
}
