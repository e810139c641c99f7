// Package frame has what key files, crawl files and stores on disk write alike. Rows of files are bytes, and behind them the CRC-32C
// of all bytes of the row, big-endian. A [store.Identity] is its version as a uvarint, then profile, key kind and Unicode version,
// each after its length as a uvarint.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal appends the checksum of row to it.
func Seal(row []byte) []byte {
	return binary.BigEndian.AppendUint32(row, crc32.Checksum(row, castagnoli))
}

// IsSealed reports whether row ends in its checksum.
func IsSealed(row []byte) bool {
	body := row[:len(row)-4]
	return crc32.Checksum(body, castagnoli) == binary.BigEndian.Uint32(row[len(body):])
}

// Reader reads rows from R. Kind is what its errors call the file.
type Reader struct {
	R    io.Reader
	Kind string
	buf  []byte
}

// Damaged returns a store.ErrCorrupt.
func (r *Reader) Damaged(format string, args ...any) error {
	return fault.As(store.ErrCorrupt, "cannot read "+r.Kind+format, args...)
}

// Fill reads all of b.
func (r *Reader) Fill(b []byte) error {
	_, err := io.ReadFull(r.R, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return r.Damaged("; it ends too early")
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", r.Kind, err)
	}
	return nil
}

// atOnce is how much memory is taken for a row before more of it was read: its length may be damaged.
const atOnce = 1 << 20

// Row returns a row that begins with start, of which n more bytes and the checksum are still to be read. It stands until
// the next call.
func (r *Reader) Row(start []byte, n int) ([]byte, error) {
	b := append(r.buf[:0], start...)
	for left := n + 4; left > 0; {
		at, step := len(b), min(left, atOnce)
		b = slices.Grow(b, step)[:at+step]
		if err := r.Fill(b[at:]); err != nil {
			return nil, err
		}
		left -= step
	}
	r.buf = b
	body := b[:len(b)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.BigEndian.Uint32(b[len(body):]); got != want {
		return nil, r.Damaged("; got checksum %08x; want %08x", got, want)
	}
	return body, nil
}

// AppendIdentity appends id.
func AppendIdentity(dst []byte, id store.Identity) []byte {
	dst = binary.AppendUvarint(dst, uint64(id.Version))
	for _, s := range []string{id.Profile, id.KeyKind, id.Unicode} {
		dst = fields.AppendText(dst, s)
	}
	return dst
}

// ReadIdentity reads what AppendIdentity appended. If it is cut short, r.Bad is set.
func ReadIdentity(r *fields.Reader) store.Identity {
	return store.Identity{Version: r.Int(), Profile: r.Text(), KeyKind: r.Text(), Unicode: r.Text()}
}
