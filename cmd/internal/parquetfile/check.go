package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
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

// checkChunk checks the pages of a column, which has one value a row, or perhaps none if it
// is optional.
func checkChunk(in io.ReaderAt, meta *format.ColumnMetaData, optional bool) error {
	at, end := meta.DataPageOffset, int64(0)
	if d := meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	if meta.TotalCompressedSize < 0 || at < 0 || at+meta.TotalCompressedSize < at {
		return errBroken
	}
	end = at + meta.TotalCompressedSize
	c := chunkCheck{codec: meta.Codec, optional: optional, text: meta.Type == format.ByteArray}
	head := make([]byte, maxPageHeader)
	for at < end {
		n, err := in.ReadAt(head[:min(int64(len(head)), end-at)], at)
		if n == 0 {
			return fmt.Errorf("cannot read a page: %w", short(err))
		}
		h, length, err := readPageHeader(head[:n])
		if err != nil {
			return err
		}
		if h.packed < 0 || h.packed > maxPage || h.unpacked < 0 || h.unpacked > maxPage || h.values < 0 || h.values > maxPageValues || h.levels < 0 {
			return fmt.Errorf("got a page of %d values and %d bytes, unpacked %d; a page has at most %d values and %d bytes", h.values, h.packed, h.unpacked, maxPageValues, maxPage)
		}
		if at += int64(length); h.packed > end-at {
			return fmt.Errorf("got a page beyond its column: %w", errBroken)
		}
		if err := c.page(in, at, h); err != nil {
			return err
		}
		at += h.packed
	}
	return nil
}

type chunkCheck struct {
	codec    format.CompressionCodec
	optional bool
	text     bool // the values are byte arrays
	packed   []byte
	plain    []byte
}

// page unpacks a page within its bounds and checks how many values it claims to have.
func (c *chunkCheck) page(in io.ReaderAt, at int64, h pageHeader) error {
	if int64(cap(c.packed)) < h.packed {
		c.packed = make([]byte, h.packed)
	}
	c.packed = c.packed[:h.packed]
	if _, err := in.ReadAt(c.packed, at); err != nil {
		return fmt.Errorf("cannot read a page: %w", short(err))
	}
	if h.levels > h.packed || h.levels > h.unpacked {
		return errBroken
	}
	levels, values := c.packed[:h.levels], c.packed[h.levels:]
	if !h.plain {
		var err error
		if values, err = c.unpack(values, h.unpacked-h.levels); err != nil {
			return err
		}
	}
	switch h.kind {
	case format.DataPage:
		return c.data(values, h)
	case format.DataPageV2:
		present, err := checkRuns(levels, 1, h.values)
		if !c.optional {
			present = h.values
		}
		if err != nil {
			return err
		}
		return c.values(values, h, present)
	case format.DictionaryPage:
		return c.texts(values, h.values)
	case format.IndexPage:
		return nil
	}
	return fmt.Errorf("got a page of kind %d: %w", h.kind, errBroken)
}

// data checks the runs of a data page of version 1. Of an optional column the definition
// levels come first; a column with others is not read.
func (c *chunkCheck) data(b []byte, h pageHeader) error {
	present := h.values
	if c.optional {
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return errBroken
		}
		n := 4 + binary.LittleEndian.Uint32(b)
		var err error
		if present, err = checkRuns(b[4:n], 1, h.values); err != nil {
			return err
		}
		b = b[n:]
	}
	return c.values(b, h, present)
}

// texts checks that b has this number of texts, each after its length, if the column has texts.
func (c *chunkCheck) texts(b []byte, values int64) error {
	if !c.text {
		return nil
	}
	n := int64(0)
	for ; len(b) >= 4; n++ {
		size := uint64(binary.LittleEndian.Uint32(b))
		if size > uint64(len(b)-4) {
			return errBroken
		}
		b = b[4+size:]
	}
	if len(b) > 0 || n != values {
		return fmt.Errorf("got a page of %d texts; want the %d of its header: %w", n, values, errBroken)
	}
	return nil
}

func (c *chunkCheck) values(b []byte, h pageHeader, present int64) error {
	switch h.encoding {
	case format.Plain:
		return c.texts(b, present)
	case plainDictionary, format.RLEDictionary:
		if len(b) == 0 {
			return nil
		}
		if b[0] > 32 {
			return errBroken
		}
		_, err := checkRuns(b[1:], uint(b[0]), h.values)
		return err
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return checkDelta(b, h.values)
	}
	return fmt.Errorf("got a column in encoding %v; want plain, a dictionary, or deltas of integers and lengths", h.encoding)
}

// plainDictionary is the older number of RLEDictionary, which DuckDB still writes.
const plainDictionary = 2

// checkRuns adds up the runs of the hybrid encoding of run lengths and packed bits. Padding
// can make a few more values than the page has. It returns how many of the values are odd:
// of definition levels, how many values there are.
func checkRuns(b []byte, width uint, values int64) (odd int64, err error) {
	total := int64(0)
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, errBroken
		}
		b = b[n:]
		count, size := int64(head>>1), int64(width+7)/8
		if head&1 != 0 {
			count, size = count*8, count*int64(width)
		}
		if count < 0 || size < 0 || count > 2*maxPageValues {
			return 0, errBroken
		}
		total += count
		run := b[:min(size, int64(len(b)))]
		switch {
		case total > values+512:
			return 0, fmt.Errorf("got runs of more than the %d values of their page: %w", values, errBroken)
		case width == 1 && head&1 != 0:
			for _, c := range run {
				odd += int64(bits.OnesCount8(c))
			}
		case len(run) > 0 && run[0]&1 != 0:
			odd += min(count, values-(total-count))
		}
		b = b[len(run):]
	}
	return odd, nil
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

// unpack returns the values of a page, which must be as many bytes as its header says.
func (c *chunkCheck) unpack(b []byte, want int64) ([]byte, error) {
	var r io.Reader
	switch c.codec {
	case format.Uncompressed:
		return b, nil
	case format.Snappy:
		n, err := snappy.DecodedLen(b)
		if len(b) == 0 && want == 0 {
			return nil, nil
		}
		if err != nil || int64(n) != want {
			return nil, fmt.Errorf("got a page of %d bytes; want the %d of its header: %w", n, want, errBroken)
		}
		c.plain, err = snappy.Decode(c.plain[:cap(c.plain)], b)
		return c.plain, err
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		r = z
	case format.Zstd:
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxPage))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, fmt.Errorf("got pages packed by %v; want snappy, gzip or zstd", c.codec)
	}
	out := bytes.NewBuffer(c.plain[:0])
	n, err := io.Copy(out, io.LimitReader(r, want+1))
	if err != nil || n != want {
		return nil, fmt.Errorf("got a page of other than the %d bytes of its header (%w): %w", want, short(err), errBroken)
	}
	c.plain = out.Bytes()
	return c.plain, nil
}
