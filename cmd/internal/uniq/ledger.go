package uniq

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A ledger knows the first URL of each sum, and how many came. It keeps a sum in about 64
// bytes of memory, and the text in a temporary file.
type ledger struct {
	space   *space
	entries map[sum]entry
	file    *os.File
	w       *bufio.Writer
	end     int64 // of the bytes written
	flushed int64
	buf     []byte
}

type entry struct {
	at int64 // of the record
	n  int64
}

const (
	ledgerHead  = 20 // of a record: the sum, and the length of the text that follows
	ledgerEntry = 64 // bytes of memory, about
)

func newLedger(s *space) *ledger { return &ledger{space: s, entries: map[sum]entry{}} }

// add counts a URL, and returns its entry and whether it is the first of its sum.
func (l *ledger) add(s sum, text []byte) (entry, bool, error) {
	if e, ok := l.entries[s]; ok {
		e.n++
		l.entries[s] = e
		return e, false, nil
	}
	if l.space.used += ledgerEntry; l.space.budget > 0 && l.space.used > l.space.budget {
		return entry{}, false, fmt.Errorf("cannot keep the first of more than %d URLs in the memory of --memory; raise it", len(l.entries))
	}
	e := entry{at: l.end, n: 1}
	l.entries[s] = e
	return e, true, l.write(s, text)
}

func (l *ledger) write(s sum, text []byte) (err error) {
	if l.file == nil {
		if l.file, err = os.CreateTemp(l.space.dir, "firstseen-uniq-"); err != nil {
			return fmt.Errorf("cannot keep the first URLs: %w", err)
		}
		l.w = bufio.NewWriterSize(l.file, 256<<10)
	}
	head := binary.BigEndian.AppendUint64(nil, s.hi)
	head = binary.BigEndian.AppendUint64(head, s.lo)
	head = binary.BigEndian.AppendUint32(head, uint32(len(text)))
	_, _ = l.w.Write(head) // the error stays
	if _, err = l.w.Write(text); err != nil {
		return fmt.Errorf("cannot keep the first URLs: %w", err)
	}
	l.end += int64(len(head) + len(text))
	return nil
}

// first returns the first URL of an entry; it is valid until the next call.
func (l *ledger) first(e entry) ([]byte, error) {
	if e.at >= l.flushed {
		if err := l.w.Flush(); err != nil {
			return nil, fmt.Errorf("cannot keep the first URLs: %w", err)
		}
		l.flushed = l.end
	}
	var head [ledgerHead]byte
	_, err := l.file.ReadAt(head[:], e.at)
	if err == nil {
		n := int(binary.BigEndian.Uint32(head[16:]))
		if cap(l.buf) < n {
			l.buf = make([]byte, n)
		}
		_, err = l.file.ReadAt(l.buf[:n], e.at+ledgerHead)
		l.buf = l.buf[:n]
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the first URLs again: %w", err)
	}
	return l.buf, nil
}

// all calls f with the first URL of each sum, in order, and how many came.
func (l *ledger) all(f func(text []byte, n int64) error) error {
	if l.file == nil {
		return nil
	}
	if err := l.w.Flush(); err != nil {
		return fmt.Errorf("cannot keep the first URLs: %w", err)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, l.end), 256<<10)
	var head [ledgerHead]byte
	for range len(l.entries) {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return fmt.Errorf("cannot read the first URLs again: %w", err)
		}
		l.buf = append(l.buf[:0], make([]byte, binary.BigEndian.Uint32(head[16:]))...)
		if _, err := io.ReadFull(r, l.buf); err != nil {
			return fmt.Errorf("cannot read the first URLs again: %w", err)
		}
		s := sum{binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint64(head[8:])}
		if err := f(l.buf, l.entries[s].n); err != nil {
			return err
		}
	}
	return nil
}

// close removes the file.
func (l *ledger) close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return errors.Join(l.file.Close(), os.Remove(l.file.Name()))
}
