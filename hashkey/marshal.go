package hashkey

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/firstseen/firstseen/internal/fault"
)

// Text, and with it JSON (map keys too), is the hexadecimal form. Binary is the bytes.
// A database gets the bytes as a BLOB; from it bytes or hexadecimal text are read.

// AppendText appends the hexadecimal form to dst.
func (h UrlHash) AppendText(dst []byte) ([]byte, error) { return hex.AppendEncode(dst, h[:]), nil }

// AppendText appends the hexadecimal form to dst.
func (h UrlShortHash) AppendText(dst []byte) ([]byte, error) { return hex.AppendEncode(dst, h[:]), nil }

// AppendText appends the hexadecimal form to dst.
func (h UrlVeryShortHash) AppendText(dst []byte) ([]byte, error) {
	return hex.AppendEncode(dst, h[:]), nil
}

// MarshalText returns the hexadecimal form.
func (h UrlHash) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// MarshalText returns the hexadecimal form.
func (h UrlShortHash) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// MarshalText returns the hexadecimal form.
func (h UrlVeryShortHash) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// UnmarshalText reads 64 hexadecimal digits.
func (h *UrlHash) UnmarshalText(text []byte) error { return parseHex(h[:], string(text)) }

// UnmarshalText reads 32 hexadecimal digits.
func (h *UrlShortHash) UnmarshalText(text []byte) error { return parseHex(h[:], string(text)) }

// UnmarshalText reads 16 hexadecimal digits.
func (h *UrlVeryShortHash) UnmarshalText(text []byte) error { return parseHex(h[:], string(text)) }

// AppendBinary appends the 32 bytes to dst.
func (h UrlHash) AppendBinary(dst []byte) ([]byte, error) { return append(dst, h[:]...), nil }

// AppendBinary appends the 16 bytes to dst.
func (h UrlShortHash) AppendBinary(dst []byte) ([]byte, error) { return append(dst, h[:]...), nil }

// AppendBinary appends the 8 bytes to dst.
func (h UrlVeryShortHash) AppendBinary(dst []byte) ([]byte, error) { return append(dst, h[:]...), nil }

// MarshalBinary returns the 32 bytes.
func (h UrlHash) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// MarshalBinary returns the 16 bytes.
func (h UrlShortHash) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// MarshalBinary returns the 8 bytes.
func (h UrlVeryShortHash) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary reads 32 bytes.
func (h *UrlHash) UnmarshalBinary(data []byte) error { return setBytes(h[:], data) }

// UnmarshalBinary reads 16 bytes.
func (h *UrlShortHash) UnmarshalBinary(data []byte) error { return setBytes(h[:], data) }

// UnmarshalBinary reads 8 bytes.
func (h *UrlVeryShortHash) UnmarshalBinary(data []byte) error { return setBytes(h[:], data) }

// Value stores the 32 bytes in a database.
func (h UrlHash) Value() (driver.Value, error) { return h.MarshalBinary() }

// Value stores the 16 bytes in a database.
func (h UrlShortHash) Value() (driver.Value, error) { return h.MarshalBinary() }

// Value stores the 8 bytes in a database.
func (h UrlVeryShortHash) Value() (driver.Value, error) { return h.MarshalBinary() }

// Scan reads the bytes or the hexadecimal form from a database. NULL is an error;
// use sql.Null[UrlHash] for a column that has it.
func (h *UrlHash) Scan(src any) error { return scan(h[:], src) }

// Scan reads the bytes or the hexadecimal form; see [UrlHash.Scan].
func (h *UrlShortHash) Scan(src any) error { return scan(h[:], src) }

// Scan reads the bytes or the hexadecimal form; see [UrlHash.Scan].
func (h *UrlVeryShortHash) Scan(src any) error { return scan(h[:], src) }

// Format prints the hexadecimal form for %s, %v and %x, in upper case for %X, and
// the form of [UrlHash.Display] for %d.
func (h UrlHash) Format(w fmt.State, verb rune) { format(w, verb, h[:]) }

// Format prints as [UrlHash.Format] does.
func (h UrlShortHash) Format(w fmt.State, verb rune) { format(w, verb, h[:]) }

// Format prints as [UrlHash.Format] does.
func (h UrlVeryShortHash) Format(w fmt.State, verb rune) { format(w, verb, h[:]) }

// format exists because a String method alone would have %x print the digits' digits.
func format(w fmt.State, verb rune, hash []byte) {
	switch verb {
	case 's', 'v', 'x':
		_, _ = io.WriteString(w, hex.EncodeToString(hash))
	case 'X':
		fmt.Fprintf(w, "%X", hash)
	case 'd':
		_, _ = w.Write(appendDisplay(nil, hash))
	default:
		fmt.Fprintf(w, "%%!%c(hash=%x)", verb, hash)
	}
}

func setBytes(hash, data []byte) error {
	if len(data) != len(hash) {
		return fault.As(ErrFormat, "cannot read hash; got %d bytes; want %d", len(data), len(hash))
	}
	copy(hash, data)
	return nil
}

func scan(hash []byte, src any) error {
	switch v := src.(type) {
	case []byte:
		if len(v) == 2*len(hash) {
			return parseHex(hash, string(v))
		}
		return setBytes(hash, v)
	case string:
		return parseHex(hash, v)
	}
	return fault.As(ErrFormat, "cannot scan hash; got a value of type %T; want %d bytes or their hexadecimal digits", src, len(hash))
}
