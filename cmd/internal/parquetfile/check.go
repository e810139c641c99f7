package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// The library that reads Parquet allocates as much memory as a file requests: a footer of a few
// bytes can request gigabytes, and so can a run of equal values. So each part of a file is checked
// first, here, against bounds that no writer comes near.
const (
	maxFooter      = 64 << 20 // bytes
	maxElements    = 1 << 20  // of all lists of the footer
	maxPage        = 64 << 20 // bytes, unpacked
	maxPageHeader  = 64 << 10 // bytes, statistics included
	maxPageValues  = 16 << 20
	maxThriftDepth = 32
)

var errBroken = errors.New("got a broken Parquet file")

// checkFooter checks the footer, which has the schema and where the columns are.
func checkFooter(in io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return errBroken
	}
	if _, err := in.ReadAt(tail[:], size-8); err != nil {
		return fmt.Errorf("cannot read the footer: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(tail[4:]) == "PARE":
		return errors.New("got a file that is encrypted; want a plain one")
	case string(tail[4:]) != "PAR1":
		return errors.New("got a file without its end; want a whole one")
	case n > maxFooter || n > size-12:
		return fmt.Errorf("got a footer of %d bytes; want at most %d", n, min(maxFooter, size-12))
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, size-8-n); err != nil {
		return fmt.Errorf("cannot read the footer: %w", err)
	}
	return checkThrift(footer)
}

// checkValues checks the runs and heads of values in an encoding; nothing that plain values say makes the library allocate.
func checkValues(b []byte, h pageHeader) error {
	switch h.encoding {
	case format.Plain:
		return nil
	case plainDictionary, format.RLEDictionary:
		if len(b) == 0 {
			return nil
		}
		if b[0] > 32 {
			return errBroken
		}
		return checkRuns(b[1:], uint(b[0]), h.values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return checkDelta(b, h.values)
	}
	return fmt.Errorf("got a column in encoding %v; want plain, a dictionary, or deltas of integers and lengths", h.encoding)
}

// plainDictionary is the older number of RLEDictionary, which DuckDB still writes.
const plainDictionary = 2

// checkRuns adds up the runs of the hybrid encoding of run lengths and packed bits. Padding
// can make a few more values than the page has.
func checkRuns(b []byte, width uint, values int64) error {
	total := int64(0)
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return errBroken
		}
		b = b[n:]
		count, size := int64(head>>1), int64(width+7)/8
		if head&1 != 0 {
			count, size = count*8, count*int64(width)
		}
		if count < 0 || size < 0 || count > 2*maxPageValues {
			return errBroken
		}
		if total += count; total > values+512 {
			return fmt.Errorf("got runs of more than the %d values of their page: %w", values, errBroken)
		}
		b = b[min(size, int64(len(b))):]
	}
	return nil
}

// checkDelta checks the head of integers that are stored as differences: the size of a
// block, its parts, and how many there are.
func checkDelta(b []byte, values int64) error {
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errBroken
		}
		head[i], b = v, b[n:]
	}
	if head[0] > 1<<16 || head[1] == 0 || head[1] > head[0] || head[2] > uint64(values) {
		return fmt.Errorf("got %d differences in blocks of %d; want at most the %d of their page: %w", head[2], head[0], values, errBroken)
	}
	return nil
}
