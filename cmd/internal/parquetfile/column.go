package parquetfile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// A column reads the values of a column, one a row, or null where it is optional. The library has a reader of pages, which
// unpacks them before they can be checked; to check them first and then let it unpack them again took a fifth of the time of
// uniq. So a page is unpacked here, once, checked, and then decoded by the library's encodings.
type column struct {
	index int
	max   byte // definition level of a value; below it, the value is null, or a group around it is; 0 where none is optional
	kind  parquet.Type
	unit  time.Duration // of times

	in     *bufio.Reader // the rest of its pages in a row group
	codec  format.CompressionCodec
	packed []byte
	plain  []byte
	zstd   *zstd.Decoder
	dict   parquet.Dictionary

	// Of a page: how many rows are left, which of them have a value if not all do, and the values that are not read yet, which are
	// places in the dictionary if it has one.
	rows    int64
	levels  []byte
	values  parquet.ValueReader
	indexed []int32

	buf  [256]parquet.Value
	have []parquet.Value // of buf

	// Memory for all of these.
	decoded []byte
	offsets []uint32
	present []byte
	places  []int32
}

// open makes the column that of a row group.
func (c *column) open(in io.ReaderAt, meta *format.ColumnMetaData) error {
	at := meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	if meta.TotalCompressedSize < 0 || at < 0 || at+meta.TotalCompressedSize < at {
		return errBroken
	}
	section := io.NewSectionReader(in, at, meta.TotalCompressedSize)
	if c.in == nil {
		c.in = bufio.NewReaderSize(section, maxPageHeader)
	}
	c.in.Reset(section)
	c.codec, c.dict, c.rows, c.have = meta.Codec, nil, 0, nil
	return nil
}

// next returns the value of the next row.
func (c *column) next() (parquet.Value, error) {
	for c.rows == 0 {
		if err := c.nextPage(); err != nil {
			return parquet.Value{}, err
		}
	}
	c.rows--
	if c.levels != nil {
		has := c.levels[0] == c.max
		if c.levels = c.levels[1:]; !has {
			return parquet.Value{}, nil
		}
	}
	if len(c.have) == 0 {
		if err := c.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	v := c.have[0]
	c.have = c.have[1:]
	return v, nil
}

// ended returns an error if a column has rows beyond those of its row group.
func (c *column) ended() error {
	for c.rows == 0 {
		head, _ := c.in.Peek(maxPageHeader)
		h, length, err := readPageHeader(head)
		if len(head) == 0 || err != nil || h.packed < 0 || h.packed > maxPage {
			return nil // padding
		}
		if h.values > 0 && (h.kind == format.DataPage || h.kind == format.DataPageV2) {
			break
		}
		if _, err := c.in.Discard(length + int(h.packed)); err != nil {
			return nil
		}
	}
	return fmt.Errorf("got more rows than its row group has: %w", errBroken)
}

// fill reads further values of the page.
func (c *column) fill() error {
	if c.indexed != nil {
		n := min(len(c.indexed), len(c.buf))
		if c.have = c.buf[:n]; n == 0 {
			return errBroken
		}
		c.dict.Lookup(c.indexed[:n], c.have)
		c.indexed = c.indexed[n:]
		return nil
	}
	n, err := c.values.ReadValues(c.buf[:])
	if c.have = c.buf[:n]; n > 0 {
		return nil
	}
	return short(cmp.Or(err, io.ErrNoProgress))
}

// nextPage reads a page, within its bounds.
func (c *column) nextPage() error {
	head, err := c.in.Peek(maxPageHeader)
	if len(head) == 0 {
		return fmt.Errorf("cannot read a page: %w", short(err))
	}
	h, length, err := readPageHeader(head)
	if err != nil {
		return err
	}
	if h.packed < 0 || h.packed > maxPage || h.unpacked < 0 || h.unpacked > maxPage || h.values < 0 || h.values > maxPageValues ||
		h.repetition < 0 || h.levels < h.repetition {
		return fmt.Errorf("got a page of %d values and %d bytes, unpacked %d; a page has at most %d values and %d bytes", h.values, h.packed, h.unpacked, maxPageValues, maxPage)
	}
	if h.levels > h.packed || h.levels > h.unpacked {
		return errBroken
	}
	_, _ = c.in.Discard(length) // which is a part of head
	c.packed = sized(c.packed, h.packed)
	if _, err := io.ReadFull(c.in, c.packed); err != nil {
		return fmt.Errorf("cannot read a page: %w", short(err))
	}
	if h.crc != 0 && h.crc != crc32.ChecksumIEEE(c.packed) {
		return fmt.Errorf("got a page that does not fit its checksum: %w", errBroken)
	}
	levels, values := c.packed[:h.levels], c.packed[h.levels:]
	if !h.plain {
		if values, err = c.unpack(values, h.unpacked-h.levels); err != nil {
			return err
		}
	}
	switch h.kind {
	case format.DictionaryPage:
		return c.dictionary(values, h)
	case format.DataPage:
		if levels, values, err = c.split(values); err != nil {
			return err
		}
	case format.DataPageV2:
		levels = levels[h.repetition:] // which some writers give columns that don't repeat
	case format.IndexPage:
		return nil
	default:
		return fmt.Errorf("got a page of kind %d: %w", h.kind, errBroken)
	}
	return c.page(levels, values, h)
}

// split parts a data page of version 1. Of an optional column the definition levels come first, after their length; a column with
// repetition levels is not read.
func (c *column) split(b []byte) (levels, values []byte, err error) {
	if c.max == 0 {
		return nil, b, nil
	}
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, errBroken
	}
	n := 4 + binary.LittleEndian.Uint32(b)
	return b[4:n], b[n:], nil
}

// page checks how many values a page claims to have, and decodes it.
func (c *column) page(levels, values []byte, h pageHeader) error {
	present := h.values
	c.levels, c.values, c.indexed = nil, nil, nil
	if c.max > 0 {
		width := bits.Len8(c.max)
		err := checkRuns(levels, uint(width), h.values)
		if err != nil {
			return err
		}
		c.present, err = (&rle.Encoding{BitWidth: width}).DecodeLevels(c.present, levels)
		if err != nil || int64(len(c.present)) < h.values {
			return errBroken
		}
		c.levels = c.present[:h.values]
		present = int64(bytes.Count(c.levels, []byte{c.max}))
	}
	if err := checkValues(values, h); err != nil {
		return err
	}
	if c.rows = h.values; h.encoding == plainDictionary || h.encoding == format.RLEDictionary {
		var err error
		if c.dict == nil || present > 0 && len(values) == 0 {
			return errBroken
		}
		c.places, err = parquet.RLEDictionary.DecodeInt32(c.places, values)
		if err != nil || int64(len(c.places)) < present {
			return errBroken
		}
		c.indexed = c.places[:present]
		return nil
	}
	room := c.decoded
	if c.kind.Kind() == parquet.ByteArray && h.encoding == format.Plain {
		room = values // texts lose their lengths, so they can stay where they are
	}
	decoded, err := c.decode(c.kind.NewValues(room, c.offsets), values, present, h.encoding)
	if err != nil {
		return err
	}
	if _, c.offsets = decoded.Data(); h.encoding != format.Plain {
		c.decoded, _ = decoded.Data()
	}
	c.values = c.kind.NewPage(c.index, int(present), decoded).Values()
	return nil
}

func (c *column) dictionary(values []byte, h pageHeader) error {
	decoded, err := c.decode(c.kind.NewValues(nil, nil), values, h.values, format.Plain)
	if err == nil {
		c.dict = c.kind.NewDictionary(c.index, int(h.values), decoded)
	}
	return err
}

// decode decodes n values.
func (c *column) decode(room encoding.Values, from []byte, n int64, how format.Encoding) (encoding.Values, error) {
	if c.kind.Kind() == parquet.ByteArray && how == format.Plain {
		if err := checkTexts(from, n); err != nil {
			return room, err
		}
	}
	decoded, err := c.kind.Decode(room, from, parquet.LookupEncoding(how))
	if err != nil {
		return decoded, err
	}
	data, ends := decoded.Data()
	have := int64(len(ends)) - 1
	if c.kind.Kind() != parquet.ByteArray && len(data) >= c.kind.EstimateSize(int(n)) {
		have = n
	}
	if have != n {
		return decoded, fmt.Errorf("got a page of %d values; want the %d of its header: %w", have, n, errBroken)
	}
	return decoded, nil
}

// unpack returns the values of a page, which must be as many bytes as its header says.
func (c *column) unpack(b []byte, want int64) (out []byte, err error) {
	if c.codec == format.Uncompressed {
		return b, nil
	}
	c.plain = sized(c.plain, want)
	switch c.codec {
	case format.Snappy:
		if len(b) == 0 && want == 0 {
			return nil, nil
		}
		var n int
		if n, err = snappy.DecodedLen(b); err == nil && int64(n) == want {
			out, err = snappy.Decode(c.plain, b)
		}
	case format.Zstd:
		if c.zstd == nil {
			if c.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(maxPage)); err != nil {
				return nil, err
			}
		}
		out, err = c.zstd.DecodeAll(b, c.plain[:0:want])
	case format.Gzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			all := bytes.NewBuffer(c.plain[:0])
			_, err = io.Copy(all, io.LimitReader(r, want+1))
			out = all.Bytes()
		}
	default:
		return nil, fmt.Errorf("got pages packed by %v; want snappy, gzip or zstd", c.codec)
	}
	if err == nil && int64(len(out)) != want {
		err = fmt.Errorf("got %d", len(out))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot unpack a page to the %d bytes of its header (%w): %w", want, short(err), errBroken)
	}
	return out, nil
}

// sized returns n bytes, of b if it has room.
func sized(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// time reads a timestamp, a date, or the 96 bits of Spark and Hive.
func (c *column) time(v parquet.Value) time.Time {
	switch v.Kind() {
	case parquet.Int32:
		if c.unit == day {
			return time.Unix(int64(v.Int32())*86400, 0).UTC()
		}
	case parquet.Int64:
		n := v.Int64()
		if c.unit <= 0 || c.unit > time.Second {
			return time.Time{}
		}
		perSecond := int64(time.Second / c.unit)
		return time.Unix(n/perSecond, n%perSecond*int64(c.unit)).UTC()
	case parquet.Int96:
		const julianOfUnix = 2440588 // 1 January 1970
		i := v.Int96()
		return time.Unix((int64(i[2])-julianOfUnix)*86400, int64(uint64(i[1])<<32|uint64(i[0]))).UTC()
	}
	return time.Time{}
}

// short turns an end inside a file into an error.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
