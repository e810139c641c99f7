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
	"io"
	"iter"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/frame"
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
	w     *bufio.Writer // whose first error Flush returns
	block []byte        // room for a count, then keys
	last  store.Key
	n     int64
}

// NewWriter returns a Writer to w. Append or Close returns an error of w.
func NewWriter(w io.Writer, h Header) *Writer {
	kw := &Writer{w: bufio.NewWriterSize(w, 1<<20), block: make([]byte, 4, 4+blockKeys*keyLen+4)}
	_, _ = kw.w.Write(frame.Seal(appendHeader([]byte(Magic), h)))
	return kw
}

// Append writes keys, which must ascend strictly, also from one call to the next.
func (w *Writer) Append(keys []store.Key) error {
	for i := range keys {
		k := &keys[i]
		if w.n > 0 && !w.last.Less(k) {
			return fault.As(store.ErrInvalid, "cannot write key file; got key %x after %x; want ascending ones", *k, w.last)
		}
		w.last = *k
		w.n++
		if w.block = append(w.block, k[:]...); len(w.block) == 4+blockKeys*keyLen {
			if err := w.endBlock(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) endBlock() error {
	binary.BigEndian.PutUint32(w.block, uint32(len(w.block)-4)/uint32(keyLen))
	_, err := w.w.Write(frame.Seal(w.block))
	if w.block = w.block[:4]; err != nil {
		return fmt.Errorf("cannot write key file: %w", err)
	}
	return nil
}

// Len returns the number of keys so far.
func (w *Writer) Len() int64 { return w.n }

// Close writes the end of the file, without which it is not whole. It doesn't close
// the underlying writer.
func (w *Writer) Close() error {
	if len(w.block) > 4 {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	_, _ = w.w.Write(frame.Seal(binary.BigEndian.AppendUint64(make([]byte, 4), uint64(w.n))))
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("cannot write key file: %w", err)
	}
	return nil
}

func appendHeader(dst []byte, h Header) []byte {
	b := frame.AppendIdentity(nil, h.Identity)
	var flags byte
	if h.UnicodeHosts {
		flags = 1
	}
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// Reader reads a file. Use [NewReader].
type Reader struct {
	r    frame.Reader
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
	kr := &Reader{r: frame.Reader{R: br, Kind: "key file"}}
	n := binary.BigEndian.Uint32(head[len(Magic):])
	if n > maxHeader {
		return nil, kr.r.Damaged(" header; got %d bytes; want at most %d", n, maxHeader)
	}
	row, err := kr.r.Row(head, int(n))
	if err != nil {
		return nil, err
	}
	f := fields.Reader{B: row[len(head):]}
	if kr.h = (Header{Identity: frame.ReadIdentity(&f), UnicodeHosts: f.Byte()&1 != 0}); f.Bad || len(f.B) > 0 {
		return nil, kr.r.Damaged(" header; got %x", row[len(head):])
	}
	return kr, nil
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
				if r.n > 0 && !r.last.Less(&k) {
					yield(store.Key{}, r.r.Damaged("; got key %x after %x; want ascending ones", k, r.last))
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
	if err := r.r.Fill(count[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(count[:])
	if n > maxBlock {
		return nil, r.r.Damaged("; got a block of %d keys; want at most %d", n, maxBlock)
	}
	if n > 0 {
		row, err := r.r.Row(count[:], int(n)*keyLen)
		if err != nil {
			return nil, err
		}
		return row[4:], nil
	}
	row, err := r.r.Row(count[:], 8)
	if err != nil {
		return nil, err
	}
	if want := binary.BigEndian.Uint64(row[4:]); uint64(r.n) != want {
		return nil, r.r.Damaged("; got %d keys; want %d", r.n, want)
	}
	if _, err := io.ReadFull(r.r.R, count[:1]); err != io.EOF {
		return nil, r.r.Damaged("; got bytes after its end")
	}
	return nil, nil
}
