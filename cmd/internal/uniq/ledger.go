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
	buf     []byte
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

// add counts a URL, and returns its entry and whether the memory had it before. If the memory
// has no room for it, it goes to the rest with its group.
func (l *ledger) add(s Sum, text []byte, group string) (e entry, repeated bool, err error) {
	if e, repeated = l.entries[s]; repeated {
		e.n++
		l.entries[s] = e
		return e, true, nil
	}
	if !l.space.Take(ledgerEntry) {
		return e, false, l.rest.add(s, text, nil, []byte(group))
	}
	if l.firsts == nil {
		if l.firsts, err = newSpool(l.space.Dir); err != nil {
			return e, false, err
		}
	}
	e.n = 1
	if e.at, err = l.firsts.put(s, 0, 0, text, nil, nil); err == nil {
		l.entries[s] = e
	}
	return e, false, err
}

// first returns the first URL of an entry; it is valid until the next call.
func (l *ledger) first(e entry) ([]byte, error) {
	var err error
	l.buf, err = l.firsts.textAt(e.at, l.buf)
	return l.buf, err
}

// counts calls f with the first URL of each sum, in order, and how many came.
func (l *ledger) counts(f func(*counted) error) error {
	if l.firsts != nil {
		err := l.firsts.lines(func(int64) error {
			l.firsts.at.n = l.entries[l.firsts.sum].n
			return f(&l.firsts.at)
		})
		if err != nil {
			return err
		}
	}
	l.entries = nil // their memory is for the rest
	return l.rest.all(false, l.space.Budget, f)
}

// duplicates calls f with each duplicate of the rest, in order.
func (l *ledger) duplicates(f func(*counted) error) error {
	l.entries = nil
	return l.rest.all(true, l.space.Budget, f)
}

// close removes the files.
func (l *ledger) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.firsts.close(), l.rest.close())
}
