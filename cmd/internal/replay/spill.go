package replay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// A spill counts distinct sums exactly in little memory: it deals them to files by
// their first bits, and sorts one file at a time at the end.
type spill struct {
	dir   string
	name  string // begins the files' names
	parts [spillParts]*bufio.Writer
	files [spillParts]*os.File
	n     int64
}

const (
	spillParts = 64
	sumBytes   = 12
)

func (s *spill) add(x sum) error {
	part := x.hi >> 58
	if s.parts[part] == nil {
		if err := s.open(int(part)); err != nil {
			return fmt.Errorf("cannot keep hashes beyond the memory budget: %w", err)
		}
	}
	var record [sumBytes]byte
	binary.BigEndian.PutUint64(record[:], x.hi)
	binary.BigEndian.PutUint32(record[8:], x.lo)
	s.n++
	if _, err := s.parts[part].Write(record[:]); err != nil {
		return fmt.Errorf("cannot keep hashes beyond the memory budget: %w", err)
	}
	return nil
}

func (s *spill) open(part int) error {
	file, err := os.CreateTemp(s.dir, "firstseen-"+s.name+"-")
	if err != nil {
		return err
	}
	s.files[part], s.parts[part] = file, bufio.NewWriterSize(file, 64<<10)
	return nil
}

// distinct counts the different sums that were added.
func (s *spill) distinct() (int64, error) {
	var total int64
	for part := range s.parts {
		if s.parts[part] == nil {
			continue
		}
		n, err := s.distinctIn(part)
		if err != nil {
			return total, fmt.Errorf("cannot count hashes beyond the memory budget: %w", err)
		}
		total += n
	}
	return total, nil
}

func (s *spill) distinctIn(part int) (int64, error) {
	if err := s.parts[part].Flush(); err != nil {
		return 0, err
	}
	if _, err := s.files[part].Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	raw, err := io.ReadAll(s.files[part])
	if err != nil {
		return 0, err
	}
	sums := make([][sumBytes]byte, len(raw)/sumBytes)
	for i := range sums {
		sums[i] = [sumBytes]byte(raw[i*sumBytes:])
	}
	slices.SortFunc(sums, func(a, b [sumBytes]byte) int { return slices.Compare(a[:], b[:]) })
	return int64(len(slices.Compact(sums))), nil
}

// close removes the files.
func (s *spill) close() error {
	var errs []error
	for _, f := range s.files {
		if f != nil {
			errs = append(errs, f.Close(), os.Remove(f.Name()))
		}
	}
	return errors.Join(errs...)
}
