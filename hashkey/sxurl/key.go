package sxurl

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"fmt"

	"github.com/firstseen/firstseen/internal/fault"
)

// Key is one SXURL: 256 bits, first bit first.
type Key [32]byte

// ParseKey reads 64 hexadecimal digits of either case. It does not check their meaning;
// [Codec.Decode] does.
func ParseKey(s string) (k Key, err error) {
	var b bits
	err = b.parse(s)
	return b.key(), err
}

// Hex returns 64 lower-case hexadecimal digits. They sort as the bytes do.
func (k Key) Hex() string { return hex.EncodeToString(k[:]) }

// Compare orders keys by their bytes: -1, 0 or 1. Keys of one scheme with the same flags
// sort by TLD, then by domain, then by subdomain.
func (k Key) Compare(o Key) int { return bytes.Compare(k[:], o[:]) }

// Format prints the hexadecimal form for every verb that prints strings.
func (k Key) Format(w fmt.State, verb rune) {
	switch verb {
	case 's', 'v', 'x':
		fmt.Fprintf(w, "%x", k[:])
	case 'X':
		fmt.Fprintf(w, "%X", k[:])
	default:
		fmt.Fprintf(w, "%%!%c(sxurl=%x)", verb, k[:])
	}
}

// AppendText appends the hexadecimal form to dst.
func (k Key) AppendText(dst []byte) ([]byte, error) { return hex.AppendEncode(dst, k[:]), nil }

// MarshalText returns the hexadecimal form, for JSON too.
func (k Key) MarshalText() ([]byte, error) { return k.AppendText(nil) }

// UnmarshalText reads 64 hexadecimal digits.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// Value stores the hexadecimal form in a database, so that SQL can take slices of it.
func (k Key) Value() (driver.Value, error) { return k.Hex(), nil }

// Scan reads the hexadecimal form, or the 32 bytes, from a database.
func (k *Key) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return k.UnmarshalText([]byte(v))
	case []byte:
		if len(v) == len(k) {
			copy(k[:], v)
			return nil
		}
		return k.UnmarshalText(v)
	}
	return fault.As(ErrLength, "cannot scan SXURL; got a value of type %T; want text or 32 bytes", src)
}
