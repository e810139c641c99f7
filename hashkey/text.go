package hashkey

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// ErrFormat means that a text or a value is no hash of the wanted type. All errors of
// parsing, unmarshalling and scanning in this package wrap it.
var ErrFormat = errors.New("not a hash of this form")

// Hex returns 64 lower-case hexadecimal digits.
func (h UrlHash) Hex() string { return hex.EncodeToString(h[:]) }

// Hex returns 32 lower-case hexadecimal digits.
func (h UrlShortHash) Hex() string { return hex.EncodeToString(h[:]) }

// Hex returns 16 lower-case hexadecimal digits.
func (h UrlVeryShortHash) Hex() string { return hex.EncodeToString(h[:]) }

// Display returns the form the url-hash crate prints: each 8 bytes as a little-endian
// number in decimal, joined by "-". Its length varies, so it does not sort as the bytes do.
func (h UrlHash) Display() string { return string(appendDisplay(nil, h[:])) }

// Display returns two decimal numbers; see [UrlHash.Display].
func (h UrlShortHash) Display() string { return string(appendDisplay(nil, h[:])) }

// Display returns one decimal number; see [UrlHash.Display].
func (h UrlVeryShortHash) Display() string { return string(appendDisplay(nil, h[:])) }

// ParseUrlHash reads 64 hexadecimal digits of either case.
func ParseUrlHash(s string) (h UrlHash, err error) {
	err = parseHex(h[:], s)
	return h, err
}

// ParseUrlShortHash reads 32 hexadecimal digits of either case.
func ParseUrlShortHash(s string) (h UrlShortHash, err error) {
	err = parseHex(h[:], s)
	return h, err
}

// ParseUrlVeryShortHash reads 16 hexadecimal digits of either case.
func ParseUrlVeryShortHash(s string) (h UrlVeryShortHash, err error) {
	err = parseHex(h[:], s)
	return h, err
}

// ParseUrlHashDisplay reads what [UrlHash.Display] writes, and nothing else: no signs,
// no leading zeros.
func ParseUrlHashDisplay(s string) (h UrlHash, err error) {
	err = parseDisplay(h[:], s)
	return h, err
}

// ParseUrlShortHashDisplay reads what [UrlShortHash.Display] writes.
func ParseUrlShortHashDisplay(s string) (h UrlShortHash, err error) {
	err = parseDisplay(h[:], s)
	return h, err
}

// ParseUrlVeryShortHashDisplay reads what [UrlVeryShortHash.Display] writes.
func ParseUrlVeryShortHashDisplay(s string) (h UrlVeryShortHash, err error) {
	err = parseDisplay(h[:], s)
	return h, err
}

func appendDisplay(dst, hash []byte) []byte {
	for i := 0; i < len(hash); i += 8 {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = strconv.AppendUint(dst, binary.LittleEndian.Uint64(hash[i:]), 10)
	}
	return dst
}

// parseHex fills hash; on error it leaves zeros.
func parseHex(hash []byte, s string) error {
	if len(s) == 2*len(hash) {
		if _, err := hex.Decode(hash, []byte(s)); err == nil {
			return nil
		}
		clear(hash)
	}
	return formatError(s, fmt.Sprintf("%d hexadecimal digits", 2*len(hash)))
}

// parseDisplay fills hash; on error it leaves zeros.
func parseDisplay(hash []byte, s string) error {
	rest, more := s, true
	for i := 0; i < len(hash); i += 8 {
		var word string
		ok := more
		word, rest, more = strings.Cut(rest, "-")
		n, err := strconv.ParseUint(word, 10, 64)
		if !ok || err != nil || word[0] == '0' && len(word) > 1 {
			clear(hash)
			return displayError(hash, s)
		}
		binary.LittleEndian.PutUint64(hash[i:], n)
	}
	if more {
		clear(hash)
		return displayError(hash, s)
	}
	return nil
}

func displayError(hash []byte, s string) error {
	return formatError(s, fmt.Sprintf("%d decimal 64-bit numbers joined by '-'", len(hash)/8))
}

// formatError quotes at most so much of s as a hash can be long.
func formatError(s, want string) error {
	const most = 100
	if len(s) > most {
		return fault.As(ErrFormat, "cannot parse hash; got %d bytes that begin %q; want %s", len(s), s[:most], want)
	}
	return fault.As(ErrFormat, "cannot parse hash; got %q; want %s", s, want)
}

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
