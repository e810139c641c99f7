package sxurl

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Key is one SXURL: 256 bits, first bit first.
type Key [32]byte

// ParseKey reads 64 hexadecimal digits of either case. It does not look at what they
// mean; [Codec.Decode] does.
func ParseKey(s string) (k Key, err error) {
	if len(s) != 2*len(k) {
		return Key{}, fmt.Errorf("cannot parse SXURL; got %d bytes; want %d hexadecimal digits: %w", len(s), 2*len(k), ErrLength)
	}
	for i := range k {
		hi, lo := nibble[s[2*i]], nibble[s[2*i+1]]
		if hi|lo > 15 {
			return Key{}, fmt.Errorf("cannot parse SXURL; got %q; want %d hexadecimal digits: %w", s, 2*len(k), ErrHex)
		}
		k[i] = hi<<4 | lo
	}
	return k, nil
}

// nibble is the value of each hexadecimal digit, 255 for all that is none.
var nibble = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c], t[bytes.ToUpper([]byte{c})[0]] = byte(i), byte(i)
	}
	return t
}()

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
	return fmt.Errorf("cannot scan SXURL; got a value of type %T; want text or 32 bytes: %w", src, ErrLength)
}

// bits are a key as four big-endian words, in which slices are put and found.
type bits [4]uint64

func (k *Key) bits() (b bits) {
	for i := range b {
		b[i] = binary.BigEndian.Uint64(k[8*i:])
	}
	return b
}

func (b *bits) key() (k Key) {
	for i, w := range b {
		binary.BigEndian.PutUint64(k[8*i:], w)
	}
	return k
}

// put sets a slice that is still 0. v must fit it.
func (b *bits) put(f field, v uint64) {
	i, shift := f.from/64, 64-f.from%64-f.width
	if shift >= 0 {
		b[i] |= v << shift
		return
	}
	b[i] |= v >> -shift
	b[i+1] |= v << (64 + shift)
}

func (b *bits) get(f field) uint64 {
	i, shift := f.from/64, 64-f.from%64-f.width
	if shift >= 0 {
		return b[i] >> shift & (1<<f.width - 1)
	}
	return (b[i]<<-shift | b[i+1]>>(64+shift)) & (1<<f.width - 1)
}
