package sxurl

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	mathbits "math/bits"
	"slices"
	"unsafe"

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
	i, end := f.from/64, f.from%64+f.width
	if end <= 64 {
		b[i&3] |= v << ((64 - end) & 63)
		return
	}
	b[i&3] |= v >> ((end - 64) & 63)
	b[(i+1)&3] |= v << ((128 - end) & 63)
}

// get returns a slice: it shifts the slice and the bits that follow it in the next word to the
// left end, and then to the right. The masks let the compiler drop its bounds checks.
func (b *bits) get(f field) uint64 {
	i, skip := f.from/64, f.from&63
	left := b[i&3]<<skip | b[(i+1)&3]>>1>>(63-skip)
	return left >> ((64 - f.width) & 63)
}

// parse reads 64 hexadecimal digits, sixteen at a time. On error it leaves b as it was.
func (b *bits) parse(s string) error {
	if len(s) != 64 {
		return fault.As(ErrLength, "cannot parse SXURL; got %d bytes; want 64 hexadecimal digits", len(s))
	}
	text := (*[64]byte)(unsafe.Pointer(unsafe.StringData(s))) // only read
	w0, wrong0 := sixteenDigits(text, 0)
	w1, wrong1 := sixteenDigits(text, 16)
	w2, wrong2 := sixteenDigits(text, 32)
	w3, wrong3 := sixteenDigits(text, 48)
	if wrong0|wrong1|wrong2|wrong3 != 0 {
		return fault.As(ErrHex, "cannot parse SXURL; got %q; want 64 hexadecimal digits", s)
	}
	b[0], b[1], b[2], b[3] = w0, w1, w2, w3
	return nil
}

// sixteenDigits reads hexadecimal digits eight at once, each a byte of a number, the first
// the lowest. wrong is 0 if all are digits. Bit 6 of a byte distinguishes letters from digits;
// encoding the value again shows whether the byte was a digit at all.
func sixteenDigits(text *[64]byte, from uint) (value, wrong uint64) {
	const each = 0x0101010101010101
	for i := range uint(2) {
		x := binary.LittleEndian.Uint64(text[(from+8*i)&63:])
		letter := x >> 6 & each
		v := x&(15*each) + 9*letter
		aboveNine := (v + 0x76*each) >> 7 & each
		again := v + '0'*each + ('a'-10-'0')*aboveNine
		wrong |= v&(0xf0*each) | (again ^ (x | letter<<5))

		v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff
		v = (v | v>>8) & 0x0000ffff0000ffff
		value = value<<32 | uint64(mathbits.ReverseBytes32(uint32(v|v>>16)))
	}
	return value, wrong
}

// Layout is one of the incompatible encodings that are all called SXURL. Keys of
// different layouts must not meet: nothing in a key shows which one it has.
type Layout uint8

const (
	// Release02 is the encoding of releases 0.1 and 0.2 of the crate, and of its README.
	Release02 Layout = iota
	// Release11 is the encoding of release 1.1.
	Release11
)

// Component is a part of a URL.
type Component string

// The components. The first six have a slice of a hash in a key, Port is there in
// clear, Scheme is in the header. The last three are for [URL.Get] and [URL.Without]
// only; Host can be matched too.
const (
	TLD          Component = "tld"       // the public suffix: "com", "co.uk", "github.io"
	Domain       Component = "domain"    // the one label before it
	Subdomain    Component = "subdomain" // all labels before that, "" if none
	Path         Component = "path"      // with its first slash
	Query        Component = "query"     // without "?"
	Fragment     Component = "fragment"  // without "#"
	Port         Component = "port"      // in decimal
	Scheme       Component = "scheme"    // "https", "http" or "ftp"
	Host         Component = "host"
	PathSegments Component = "path_segments" // not the empty ones, joined by ","
	Filename     Component = "filename"      // the last segment, if it looks like a file's name
)

// ParseComponent reads a component's name. It also knows the crate's short names and
// the README's: sub, params, frag, anchor.
func ParseComponent(name string) (Component, error) {
	switch c := Component(name); c {
	case TLD, Domain, Subdomain, Path, Query, Fragment, Port, Scheme, Host, PathSegments, Filename:
		return c, nil
	case "sub":
		return Subdomain, nil
	case "params":
		return Query, nil
	case "frag", "anchor":
		return Fragment, nil
	}
	return "", fault.As(ErrComponent, "cannot parse component; got %q; want tld, domain, subdomain, path, query, fragment, port, scheme or host", name)
}

// field is the place of a slice in a key, in bits from the first, and the label that
// is hashed with it.
type field struct {
	from, width uint
	label       string
}

// layout is the table of one encoding.
type layout struct {
	tld, domain, subdomain, path, query, fragment, port field
	head                                                field // all before the TLD
	flags                                               field
	hasSubdomain, hasPort, hasPath, hasQuery, hasFrag   uint64 // bits of flags; 0 if there is none
	reserved                                            uint64 // bits of flags that must be 0
}

var layout02 = layout{
	head: field{0, 12, ""}, flags: field{7, 5, ""},
	tld: field{12, 16, "tld"}, domain: field{28, 60, "domain"}, subdomain: field{88, 32, "sub"}, port: field{120, 16, ""},
	path: field{136, 60, "path"}, query: field{196, 36, "params"}, fragment: field{232, 24, "frag"},
	hasSubdomain: 16, hasQuery: 8, hasFrag: 4, hasPort: 2, reserved: 1,
}

var layout11 = layout{
	head: field{0, 8, ""}, flags: field{128, 8, ""},
	tld: field{8, 28, "tld"}, domain: field{36, 60, "domain"}, subdomain: field{96, 32, "subdomain"}, port: field{136, 16, ""},
	path: field{152, 52, "path"}, query: field{204, 32, "query"}, fragment: field{236, 20, "fragment"},
	hasSubdomain: 0x80, hasPort: 0x40, hasPath: 0x20, hasQuery: 0x10, hasFrag: 8, reserved: 7,
}

func (l Layout) table() *layout {
	if l == Release11 {
		return &layout11
	}
	return &layout02
}

// field returns the place of a component that has one.
func (t *layout) field(c Component) (field, bool) {
	i := slices.Index([]Component{TLD, Domain, Subdomain, Path, Query, Fragment, Port}, c)
	if i < 0 {
		return field{}, false
	}
	return [...]field{t.tld, t.domain, t.subdomain, t.path, t.query, t.fragment, t.port}[i], true
}

// Slice returns where the digits of a component are in the hexadecimal form: from is
// the first, counted from 0, to the one after the last. In SQL that is
// substr(sxurl, from+1, to-from). A component without a slice has ErrComponent.
func (l Layout) Slice(c Component) (from, to int, err error) {
	f, ok := l.table().field(c)
	if !ok {
		return 0, 0, fault.As(ErrComponent, "cannot slice SXURL; got component %q; want tld, domain, subdomain, port, path, query or fragment", c)
	}
	return int(f.from / 4), int(f.from+f.width) / 4, nil
}
