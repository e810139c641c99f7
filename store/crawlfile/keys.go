package crawlfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// A key file moves a seen-set. It records how its keys were made, so that it is not mixed with others. It consists of
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
// The identity is as [store.Identity.AppendTo] writes it; the flags are 1 byte, whose bit 0 is set if keys of
// internationalised hosts are among them. A CRC is the CRC-32C of the bytes of its row before it.
// The keys ascend strictly across blocks too.

// KeysMagic is what a key file begins with.
const KeysMagic = "firstseen.k1"

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
	// them, which depend on the Unicode version.
	UnicodeHosts bool
}

// WriteKeys writes a file of the keys of seq, which must ascend strictly,
// and returns their number. It ends with the first error of seq or w.
func WriteKeys(w io.Writer, h Header, seq iter.Seq2[store.Key, error]) (n int64, err error) {
	out := bufio.NewWriterSize(w, 1<<20) // whose first error Flush returns
	_, _ = out.Write(seal(appendHeader([]byte(KeysMagic), h)))
	block := make([]byte, 4, 4+blockKeys*keyLen+4) // a count, then keys
	endBlock := func() (err error) {
		if len(block) > 4 {
			binary.BigEndian.PutUint32(block, uint32(len(block)-4)/uint32(keyLen))
			_, err = out.Write(seal(block))
			block = block[:4]
		}
		return err
	}
	var last store.Key
	for k, err := range seq {
		if err != nil {
			return n, err
		}
		if n > 0 && !last.Less(&k) {
			return n, fault.As(store.ErrInvalid, "cannot write key file; got key %x after %x; want ascending ones", k, last)
		}
		last = k
		n++
		if block = append(block, k[:]...); len(block) == 4+blockKeys*keyLen {
			if err := endBlock(); err != nil {
				return n, fmt.Errorf("cannot write key file: %w", err)
			}
		}
	}
	_ = endBlock()
	_, _ = out.Write(seal(binary.BigEndian.AppendUint64(make([]byte, 4), uint64(n))))
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("cannot write key file: %w", err)
	}
	return n, nil
}

func appendHeader(dst []byte, h Header) []byte {
	b := h.Identity.AppendTo(nil)
	var flags byte
	if h.UnicodeHosts {
		flags = 1
	}
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// KeyReader reads a key file. Use [NewKeyReader].
type KeyReader struct {
	r    rowReader
	h    Header
	last store.Key
	n    int64
}

// NewKeyReader reads the header of a key file. For another kind of file the error is
// [store.ErrFormat], for a damaged one [store.ErrCorrupt].
func NewKeyReader(r io.Reader) (*KeyReader, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	head := make([]byte, len(KeysMagic)+4)
	got, err := io.ReadFull(br, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("cannot read key file: %w", err)
	}
	if string(head[:len(KeysMagic)]) == Magic {
		return nil, fault.As(store.ErrFormat, `it is a file of "firstseen copy", not a key file of "firstseen export"`)
	}
	if err != nil || string(head[:len(KeysMagic)]) != KeysMagic {
		return nil, fault.As(store.ErrFormat, `it is no key file, as "firstseen export" writes it: it begins %q, not %q`, head[:min(got, len(KeysMagic))], KeysMagic)
	}
	kr := &KeyReader{r: rowReader{src: br, kind: "key file"}}
	n := binary.BigEndian.Uint32(head[len(KeysMagic):])
	if n > maxHeader {
		return nil, kr.r.damaged(" header; got %d bytes; want at most %d", n, maxHeader)
	}
	row, err := kr.r.row(head, int(n))
	if err != nil {
		return nil, err
	}
	body := row[len(head):]
	last := len(body) - 1
	if last < 0 {
		return nil, kr.r.damaged(" header; it is empty")
	}
	id, err := store.ParseIdentity(body[:last])
	if err != nil {
		return nil, kr.r.damaged(" header: %w", err)
	}
	kr.h = Header{Identity: id, UnicodeHosts: body[last]&1 != 0}
	return kr, nil
}

// Header returns the file's header.
func (r *KeyReader) Header() Header { return r.h }

// Keys lists the keys, which ascend strictly. It ends with the first error, and
// with one if the file is not whole. It can be used once.
func (r *KeyReader) Keys() iter.Seq2[store.Key, error] {
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
					yield(store.Key{}, r.r.damaged("; got key %x after %x; want ascending ones", k, r.last))
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
func (r *KeyReader) block() ([]byte, error) {
	row, err := r.r.next(maxBlock, keyLen, r.n, "a block of %d keys", "%d keys")
	if row != nil || err != nil {
		return row, err
	}
	if _, err := io.ReadFull(r.r.src, make([]byte, 1)); err != io.EOF {
		return nil, r.r.damaged("; got bytes after its end")
	}
	return nil, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends its checksum to a row of either kind of file.
func seal(row []byte) []byte {
	return binary.BigEndian.AppendUint32(row, crc32.Checksum(row, castagnoli))
}

// isSealed reports whether row ends in its checksum.
func isSealed(row []byte) bool {
	body := row[:len(row)-4]
	return crc32.Checksum(body, castagnoli) == binary.BigEndian.Uint32(row[len(body):])
}

// rowReader reads rows.
type rowReader struct {
	src  io.Reader
	kind string // what errors call the file
	buf  []byte
}

// damaged returns a store.ErrCorrupt.
func (r *rowReader) damaged(format string, args ...any) error {
	return fault.As(store.ErrCorrupt, "cannot read "+r.kind+format, args...)
}

// fill reads all of b.
func (r *rowReader) fill(b []byte) error {
	_, err := io.ReadFull(r.src, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return r.damaged("; it ends too early")
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", r.kind, err)
	}
	return nil
}

// atOnce is how much memory is allocated for a row before more of it has been read: its length may be damaged.
const atOnce = 1 << 20

// row returns a row that begins with start, after reading its other n bytes and the checksum. It is valid until
// the next call.
func (r *rowReader) row(start []byte, n int) ([]byte, error) {
	b := append(r.buf[:0], start...)
	for left := n + 4; left > 0; {
		at, step := len(b), min(left, atOnce)
		b = slices.Grow(b, step)[:at+step]
		if err := r.fill(b[at:]); err != nil {
			return nil, err
		}
		left -= step
	}
	r.buf = b
	body := b[:len(b)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.BigEndian.Uint32(b[len(body):]); got != want {
		return nil, r.damaged("; got checksum %08x; want %08x", got, want)
	}
	return body, nil
}

// next returns the rest of the next row after its length, which counts units of a size and is bounded; nil after the last row, which
// has the number of rows before it.
func (r *rowReader) next(most uint32, size int, read int64, length, count string) ([]byte, error) {
	var head [4]byte
	if err := r.fill(head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > most {
		return nil, r.damaged("; got "+length+"; want at most %d", n, most)
	}
	if n > 0 {
		row, err := r.row(head[:], int(n)*size)
		if err != nil {
			return nil, err
		}
		return row[4:], nil
	}
	row, err := r.row(head[:], 8)
	if err != nil {
		return nil, err
	}
	if want := binary.BigEndian.Uint64(row[4:]); uint64(read) != want {
		return nil, r.damaged("; got "+count+"; want %d", read, want)
	}
	return nil, nil
}
