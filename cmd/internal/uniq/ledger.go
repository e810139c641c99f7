package uniq

import (
	"errors"
)

// A ledger knows the first URL of each sum, and how many came. It keeps a sum in about 64
// bytes of memory, and the text in a temporary file. Lines whose first URL has no room go to
// the rest.
type ledger struct {
	space   *Space
	entries map[Sum]entry
	firsts  *spool
	rest    rest
}

type entry struct {
	at int64 // of the first URL, in the spool
	n  int64
}

// ledgerEntry is how many bytes of memory an entry takes, about.
const ledgerEntry = 64

func newLedger(s *Space) *ledger {
	return &ledger{space: s, entries: map[Sum]entry{}, rest: rest{dir: s.Dir}}
}

// add counts a line, and returns its entry and whether the memory had it before. If the memory has no room for it, it goes to the rest.
func (l *ledger) add(it *item) (e entry, repeated bool, err error) {
	if e, repeated = l.entries[it.sum]; repeated {
		e.n++
		l.entries[it.sum] = e
		return e, true, nil
	}
	if !l.space.Take(ledgerEntry) {
		return e, false, l.rest.add(it)
	}
	if l.firsts == nil {
		if l.firsts, err = newSpool(l.space.Dir); err != nil {
			return e, false, err
		}
	}
	e.n = 1
	if e.at, err = l.firsts.put(&item{sum: it.sum, text: it.text, file: it.file, row: it.row, offset: it.offset, shown: it.shown}); err == nil {
		l.entries[it.sum] = e
	}
	return e, false, err
}

// counts calls f with the first URL of each sum, in order, and how many came.
func (l *ledger) counts(f func(*item) error) error {
	if l.firsts != nil {
		err := l.firsts.each(func() error {
			l.firsts.at.n = l.entries[l.firsts.at.sum].n
			return f(&l.firsts.at)
		})
		if err != nil {
			return err
		}
	}
	l.entries = nil // their memory is for the rest
	return l.rest.firsts(l.space.Budget, f)
}

// duplicates calls f with each duplicate of the rest, in order.
func (l *ledger) duplicates(f func(*item) error) error {
	l.entries = nil
	return l.rest.duplicates(l.space.Budget, f)
}

// close removes the files.
func (l *ledger) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.firsts.close(), l.rest.close())
}
