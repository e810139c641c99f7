package uniq

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/firstseen/firstseen/store"
)

// An item is a line on its way to the output, perhaps through temporary files.
type item struct {
	sum         Sum    // of what makes it a duplicate
	number      uint64 // of the line
	n           int64  // how many of its sum there are
	row, offset int64  // where it was found in its file
	text        []byte
	first       []byte // of a duplicate, the first of its sum
	order       string // what Options.Choose compares
	sorted      string // what Options.Sort compares
	shown       string // its group
	file        string
	key         store.Key
	unicode     bool
}

func (it *item) append(dst []byte) []byte {
	for _, v := range [...]uint64{it.sum.Hi, it.sum.Lo, it.number, uint64(it.n), uint64(it.row), uint64(it.offset)} {
		dst = binary.AppendUvarint(dst, v)
	}
	for _, p := range [...][]byte{it.text, it.first} {
		dst = append(binary.AppendUvarint(dst, uint64(len(p))), p...)
	}
	for _, s := range [...]string{it.order, it.sorted, it.shown, it.file} {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	dst = append(dst, it.key[:]...)
	if it.unicode {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// read reads what append wrote. The texts are parts of b.
func (it *item) read(b []byte) {
	number := func() uint64 {
		v, used := binary.Uvarint(b)
		b = b[used:]
		return v
	}
	text := func() (p []byte) {
		n := number()
		p, b = b[:n], b[n:]
		return p
	}
	*it = item{sum: Sum{number(), number()}, number: number(), n: int64(number()), row: int64(number()), offset: int64(number()),
		text: text(), first: text(), order: string(text()), sorted: string(text()), shown: string(text()), file: string(text())}
	copy(it.key[:], b)
	it.unicode = b[len(it.key)] == 1
}

// A spool is a temporary file of items, each after its length in 4 bytes.
type spool struct {
	file    *os.File
	w       *bufio.Writer
	end     int64
	flushed int64 // of end
	out     []byte

	r     *bufio.Reader
	in    []byte
	at    item // that next read
	place int64
	after int64 // the place of the next one
	ended bool
}

func newSpool(dir string) (*spool, error) {
	file, err := os.CreateTemp(dir, "firstseen-uniq-")
	if err != nil {
		return nil, spoolError(err)
	}
	return &spool{file: file, w: bufio.NewWriterSize(file, 32<<10)}, nil
}

func spoolError(err error) error {
	return fmt.Errorf("cannot keep lines in a temporary file: %w", err)
}

// put writes an item and returns its place.
func (s *spool) put(it *item) (place int64, err error) {
	s.out = it.append(append(s.out[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(s.out, uint32(len(s.out)-4))
	place = s.end
	n, err := s.w.Write(s.out)
	if s.end += int64(n); err != nil {
		err = spoolError(err)
	}
	return place, err
}

// flush makes the written data readable.
func (s *spool) flush() error {
	if err := s.w.Flush(); err != nil {
		return spoolError(err)
	}
	s.flushed = s.end
	return nil
}

// rewind makes next read from the beginning.
func (s *spool) rewind() error {
	if err := s.flush(); err != nil {
		return err
	}
	s.ended, s.after = false, 0
	s.r = bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.end), 32<<10)
	return nil
}

// next reads an item to s.at, or sets s.ended.
func (s *spool) next() error {
	err := s.read(s.r)
	if s.ended = err == io.EOF; s.ended {
		return nil
	}
	s.place, s.after = s.after, s.after+4+int64(len(s.in))
	return err
}

func (s *spool) read(r io.Reader) error {
	var size [4]byte
	_, err := io.ReadFull(r, size[:])
	if err == io.EOF {
		return err
	}
	s.in = append(s.in[:0], make([]byte, binary.BigEndian.Uint32(size[:]))...)
	if err == nil {
		_, err = io.ReadFull(r, s.in)
	}
	if err != nil {
		return spoolError(err)
	}
	s.at.read(s.in)
	return nil
}

// each calls f with each item in s.at, and its place in s.place.
func (s *spool) each(f func() error) error {
	if err := s.rewind(); err != nil {
		return err
	}
	for {
		if err := s.next(); err != nil || s.ended {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// textAt returns the text of the item at a place. It is valid until the next call.
func (s *spool) textAt(place int64) ([]byte, error) {
	if place >= s.flushed {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	one := spool{in: s.out}
	err := one.read(io.NewSectionReader(s.file, place, s.end-place))
	s.out = one.in
	return one.at.text, err
}

// close removes the file.
func (s *spool) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
