package uniq

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A spool is a temporary file of lines.
type spool struct {
	file    *os.File
	w       *bufio.Writer
	end     int64
	flushed int64 // of end
	head    []byte

	r     *bufio.Reader
	sum   Sum     // of the line that next read
	at    counted // that line
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

// put writes a line and returns its place.
func (s *spool) put(sum Sum, number uint64, n int64, text, first, group []byte) (at int64, err error) {
	at = s.end
	s.head = binary.BigEndian.AppendUint64(s.head[:0], sum.Hi)
	s.head = binary.BigEndian.AppendUint64(s.head, sum.Lo)
	s.head = binary.BigEndian.AppendUint64(s.head, number)
	s.head = binary.BigEndian.AppendUint64(s.head, uint64(n))
	for _, p := range [][]byte{text, first, group} {
		s.head = binary.BigEndian.AppendUint32(s.head, uint32(len(p)))
	}
	for _, p := range [][]byte{s.head, text, first, group} {
		m, werr := s.w.Write(p)
		if s.end += int64(m); werr != nil {
			return at, spoolError(werr)
		}
	}
	return at, nil
}

const spoolHead = 4*8 + 3*4

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
	s.ended = false
	s.r = bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.end), 32<<10)
	return nil
}

// next reads a line to s.sum and s.at, or sets s.ended.
func (s *spool) next() error {
	var head [spoolHead]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		if s.ended = err == io.EOF; s.ended {
			return nil
		}
		return spoolError(err)
	}
	s.sum = Sum{Hi: binary.BigEndian.Uint64(head[:]), Lo: binary.BigEndian.Uint64(head[8:])}
	s.at.number, s.at.n = binary.BigEndian.Uint64(head[16:]), int64(binary.BigEndian.Uint64(head[24:]))
	for i, p := range []*[]byte{&s.at.text, &s.at.first, &s.at.group} {
		*p = append((*p)[:0], make([]byte, binary.BigEndian.Uint32(head[32+4*i:]))...)
		if _, err := io.ReadFull(s.r, *p); err != nil {
			return spoolError(err)
		}
	}
	return nil
}

// lines calls f with each line of s and its place.
func (s *spool) lines(f func(at int64) error) error {
	if err := s.rewind(); err != nil {
		return err
	}
	var at int64
	for {
		if err := s.next(); err != nil || s.ended {
			return err
		}
		if err := f(at); err != nil {
			return err
		}
		at += spoolHead + int64(len(s.at.text)+len(s.at.first)+len(s.at.group))
	}
}

// textAt appends the text of the line at a place to room, which it empties.
func (s *spool) textAt(at int64, room []byte) ([]byte, error) {
	if at >= s.flushed {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	var n [4]byte
	if _, err := s.file.ReadAt(n[:], at+32); err != nil {
		return nil, spoolError(err)
	}
	room = append(room[:0], make([]byte, binary.BigEndian.Uint32(n[:]))...)
	if _, err := s.file.ReadAt(room, at+spoolHead); err != nil {
		return nil, spoolError(err)
	}
	return room, nil
}

// close removes the file.
func (s *spool) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
