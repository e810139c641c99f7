// Package keyfile reads and writes portable files of sorted keys, which move a seen-set between
// stores, machines and backends.
//
// A file records how its keys were made, so that it is not mixed with others. It consists of
// blocks with checksums: a reader checks a block before it returns its keys. It ends with a
// count, so that a truncated file is detected. All numbers are big-endian:
//
//	+----------------+----------+----------------------------------------+--------+
//	| "firstseen.k1" | length 4 | identity and flags, see below          | CRC 4  |  header
//	+----------------+----------+----------------------------------------+--------+
//	| count 4, not zero         | count keys of 16 bytes, ascending      | CRC 4  |  block, any number
//	+---------------------------+----------------------------------------+--------+
//	| 0, 4 bytes                | keys in the file 8                     | CRC 4  |  end
//	+---------------------------+----------------------------------------+--------+
//
// The identity is: profile version (uvarint); profile, key kind and Unicode version,
// each after its length (uvarint); flags (1 byte, bit 0: keys of
// internationalised hosts are among them). A CRC is the CRC-32C of the bytes of its row before it.
// The keys ascend strictly across blocks too.
package keyfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/identityform"
)

// Magic is what a key file begins with.
const Magic = "firstseen.k1"

const (
	blockKeys = 4096
	maxBlock  = 1 << 20 // keys that a reader accepts in a block
	maxHeader = 1 << 16
	keyLen    = len(store.Key{})
)

// Header is how the keys of a file were made.
type Header struct {
	Identity store.Identity
	// UnicodeHosts reports that keys of internationalised hosts may be among
	// them, so that they belong to that Unicode version.
	UnicodeHosts bool
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write writes a file of the keys of seq, which must ascend strictly,
// and returns their number. It ends with the first error of seq or w.
func Write(w io.Writer, h Header, seq iter.Seq2[store.Key, error]) (int64, error) {
	kw := NewWriter(w, h)
	some := make([]store.Key, 0, 256)
	for k, err := range seq {
		if err != nil {
			return kw.n, err
		}
		if some = append(some, k); len(some) == cap(some) {
			if err := kw.Append(some); err != nil {
				return kw.n, err
			}
			some = some[:0]
		}
	}
	if err := kw.Append(some); err != nil {
		return kw.n, err
	}
	return kw.n, kw.Close()
}

// Writer writes a file. Use [NewWriter].
type Writer struct {
	w     *bufio.Writer
	e     encoder
	block []byte // room for a count, then keys
	last  store.Key
	n     int64
}

// NewWriter returns a Writer to w. The next Append or Close returns an error of w.
func NewWriter(w io.Writer, h Header) *Writer {
	bw := bufio.NewWriterSize(w, 1<<20)
	kw := &Writer{w: bw, e: encoder{w: bw}, block: make([]byte, 4, 4+blockKeys*keyLen+4)}
	kw.e.row(appendHeader([]byte(Magic), h))
	return kw
}

// Append writes keys, which must ascend strictly, also from one call to the next.
func (w *Writer) Append(keys []store.Key) error {
	for i := range keys {
		k := &keys[i]
		if w.n > 0 && !before(&w.last, k) {
			return fault.As(store.ErrInvalid, "cannot write key file; got key %x after %x; want ascending ones", *k, w.last)
		}
		w.last = *k
		w.n++
		if w.block = append(w.block, k[:]...); len(w.block) == 4+blockKeys*keyLen {
			w.block = w.e.block(w.block)
		}
	}
	return w.e.err
}

// Len returns the number of keys so far.
func (w *Writer) Len() int64 { return w.n }

// Close writes the end of the file, without which it is not whole. It doesn't close
// the underlying writer.
func (w *Writer) Close() error {
	if len(w.block) > 4 {
		w.block = w.e.block(w.block)
	}
	w.e.row(binary.BigEndian.AppendUint64(make([]byte, 4), uint64(w.n)))
	return errors.Join(w.e.err, w.w.Flush())
}

// before reports whether x is before y.
func before(x, y *store.Key) bool {
	if a, b := binary.BigEndian.Uint64(x[:]), binary.BigEndian.Uint64(y[:]); a != b {
		return a < b
	}
	return binary.BigEndian.Uint64(x[8:]) < binary.BigEndian.Uint64(y[8:])
}

type encoder struct {
	w   io.Writer
	err error
}

// row writes b and its checksum.
func (e *encoder) row(b []byte) {
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err := e.w.Write(b); err != nil && e.err == nil {
		e.err = fmt.Errorf("cannot write key file: %w", err)
	}
}

// block writes a block whose count is yet to be filled in, and empties it.
func (e *encoder) block(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4)/uint32(keyLen))
	e.row(b)
	return b[:4]
}

func appendHeader(dst []byte, h Header) []byte {
	b := identityform.Append(nil, h.Identity)
	var flags byte
	if h.UnicodeHosts {
		flags = 1
	}
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
}

func parseHeader(b []byte) (Header, error) {
	r := fields.Reader{B: b}
	h := Header{Identity: identityform.Read(&r), UnicodeHosts: r.Byte()&1 != 0}
	if r.Bad || len(r.B) > 0 {
		return Header{}, fault.As(store.ErrCorrupt, "cannot read key file header; got %x", b)
	}
	return h, nil
}

// Reader reads a file. Use [NewReader].
type Reader struct {
	r    *bufio.Reader
	h    Header
	last store.Key
	n    int64
}

// NewReader reads the header of a key file. For another kind of file the error is
// [store.ErrFormat], for a damaged one [store.ErrCorrupt].
func NewReader(r io.Reader) (*Reader, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	head := make([]byte, len(Magic)+4)
	got, err := io.ReadFull(br, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("cannot read key file: %w", err)
	}
	if string(head[:len(Magic)]) == "firstseen.c1" {
		return nil, fault.As(store.ErrFormat, `it is a file of "firstseen copy", not a key file of "firstseen export"`)
	}
	if err != nil || string(head[:len(Magic)]) != Magic {
		return nil, fault.As(store.ErrFormat, `it is no key file, as "firstseen export" writes it: it begins %q, not %q`, head[:min(got, len(Magic))], Magic)
	}
	n := binary.BigEndian.Uint32(head[len(Magic):])
	if n > maxHeader {
		return nil, fault.As(store.ErrCorrupt, "cannot read key file header; got %d bytes; want at most %d", n, maxHeader)
	}
	row, err := checked(br, head, int(n))
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(row[len(head):])
	return &Reader{r: br, h: h}, err
}

// checked reads n bytes and a checksum of start and them, and returns start and
// them.
func checked(r io.Reader, start []byte, n int) ([]byte, error) {
	row := make([]byte, len(start)+n+4)
	copy(row, start)
	if _, err := io.ReadFull(r, row[len(start):]); err != nil {
		return nil, truncated(err)
	}
	body := row[:len(row)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.BigEndian.Uint32(row[len(body):]); got != want {
		return nil, fault.As(store.ErrCorrupt, "cannot read key file; got checksum %08x; want %08x", got, want)
	}
	return body, nil
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.As(store.ErrCorrupt, "cannot read key file; it ends too early")
	}
	return fmt.Errorf("cannot read key file: %w", err)
}

// Header returns what the file says of its keys.
func (r *Reader) Header() Header { return r.h }

// Keys lists the keys, which ascend strictly. It ends with the first error, and
// with one if the file is not whole. It can be used once.
func (r *Reader) Keys() iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for {
			block, err := r.block()
			if err != nil {
				yield(store.Key{}, err)
				return
			}
			if block == nil {
				return
			}
			for ; len(block) > 0; block = block[keyLen:] {
				k := store.Key(block[:keyLen])
				if r.n > 0 && !before(&r.last, &k) {
					yield(store.Key{}, fault.As(store.ErrCorrupt, "cannot read key file; got key %x after %x; want ascending ones", k, r.last))
					return
				}
				r.last = k
				r.n++
				if !yield(k, nil) {
					return
				}
			}
		}
	}
}

// block returns the keys of the next block, or nil at the end.
func (r *Reader) block() ([]byte, error) {
	var count [4]byte
	if _, err := io.ReadFull(r.r, count[:]); err != nil {
		return nil, truncated(err)
	}
	n := binary.BigEndian.Uint32(count[:])
	if n == 0 {
		return nil, r.end(count[:])
	}
	if n > maxBlock {
		return nil, fault.As(store.ErrCorrupt, "cannot read key file; got a block of %d keys; want at most %d", n, maxBlock)
	}
	row, err := checked(r.r, count[:], int(n)*keyLen)
	if err != nil {
		return nil, err
	}
	return row[4:], nil
}

// end reads the last row.
func (r *Reader) end(start []byte) error {
	row, err := checked(r.r, start, 8)
	if err != nil {
		return err
	}
	if want := binary.BigEndian.Uint64(row[4:]); uint64(r.n) != want {
		return fault.As(store.ErrCorrupt, "cannot read key file; got %d keys; want %d", r.n, want)
	}
	if _, err := r.r.ReadByte(); err != io.EOF {
		return fault.As(store.ErrCorrupt, "cannot read key file; got bytes after its end")
	}
	return nil
}
