package whatwg

import (
	"strings"
	"unicode/utf8"
)

// A Set is a set of bytes.
type Set [256]bool

// SetOf returns the set of the characters of a text.
func SetOf(chars string) *Set {
	var s Set
	for i := range len(chars) {
		s[chars[i]] = true
	}
	return &s
}

// Characters by their names in RFC 3986, sections 2.2 and 2.3.
const (
	Digits     = "0123456789"
	Letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Unreserved = Digits + Letters + "-._~"
	SubDelims  = "!$&'()*+,;="
)

// IsUnreserved are the unreserved characters: escaped or not, they mean the same.
var IsUnreserved = SetOf(Unreserved)

// What the percent-encode sets of the URL Standard (1.3) leave as it is. "%" is in each: the standard
// leaves escapes alone, and stray "%" too.
var (
	userinfoRaw   = SetOf(Unreserved + "!$%&'()*+,")
	pathRaw       = SetOf(Unreserved + SubDelims + ":@/%[]\\|") // "^" is escaped since March 2025
	queryRaw      = SetOf(Unreserved + "!$%&()*+,;=" + ":@/?[]\\^`{|}")
	otherQueryRaw = SetOf(Unreserved + SubDelims + "%" + ":@/?[]\\^`{|}") // of schemes that are not special
	fragmentRaw   = SetOf(Unreserved + SubDelims + ":@/?#%[]\\^{|}")
	opaqueRaw     = func() *Set { // all but the C0 control set
		var s Set
		for c := byte(' '); c < 0x7f; c++ {
			s[c] = true
		}
		return &s
	}()
)

// NotHex is the value in Unhex of what is no digit.
const NotHex = 0xff

// Unhex has the values of hexadecimal digits.
var Unhex = func() (t [256]byte) {
	for i := range t {
		t[i] = NotHex
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// IsEscape reports whether an escape, "%" and two hexadecimal digits, begins at s[i].
func IsEscape[T string | []byte](s T, i int) bool {
	return i+2 < len(s) && s[i] == '%' && Unhex[s[i+1]] != NotHex && Unhex[s[i+2]] != NotHex
}

// Escaped returns the byte that the escape at s[i] stands for.
func Escaped[T string | []byte](s T, i int) byte { return Unhex[s[i+1]]<<4 | Unhex[s[i+2]] }

// AppendEscape appends the escape of a byte.
func AppendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

// AppendEscaped appends s with each byte outside the set escaped.
func AppendEscaped(dst []byte, s string, raw *Set) []byte {
	for i := range len(s) {
		if raw[s[i]] {
			dst = append(dst, s[i])
		} else {
			dst = AppendEscape(dst, s[i])
		}
	}
	return dst
}

// Escape returns s with each byte outside the set escaped. Bytes that are not UTF-8 are escaped as they are:
// to replace them by U+FFFD, as browsers do, would merge pages.
func Escape(s string, raw *Set) string {
	for i := range len(s) {
		if !raw[s[i]] {
			return string(AppendEscaped(append(make([]byte, 0, len(s)+16), s[:i]...), s[i:], raw))
		}
	}
	return s
}

// UTF8 returns a URL as JSON and the strings of Parquet can hold it: bytes that are not UTF-8 are escaped.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b []byte
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			b = AppendEscape(b, s[0])
		} else {
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return string(b)
}

// MapEscapes goes through s from left to right once. It calls f for each escape, and writes what f returns; a
// "%" that begins no escape is written as stray. What is written is not read again, so nothing is decoded twice.
func MapEscapes(s, stray string, f func(escape string, c byte) string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)+len(stray)), s[:i]...)
	for i < len(s) {
		switch {
		case s[i] != '%':
			b = append(b, s[i])
			i++
		case IsEscape(s, i):
			b = append(b, f(s[i:i+3], Escaped(s, i))...)
			i += 3
		default:
			b = append(b, stray...)
			i++
		}
	}
	return string(b)
}

// Unescape decodes every escape.
func Unescape(s string) string {
	return MapEscapes(s, "%", func(_ string, c byte) string { return string([]byte{c}) })
}

// DecodeUnreserved decodes the escapes of unreserved characters (RFC 3986, 6.2.2.2).
func DecodeUnreserved(s string) string {
	return MapEscapes(s, "%", func(escape string, c byte) string {
		if IsUnreserved[c] {
			return string([]byte{c})
		}
		return escape
	})
}

// Lower returns an ASCII letter in lower case, and any other byte as it is.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// LowerText lower-cases ASCII letters and leaves all other bytes, valid UTF-8 or not.
func LowerText(s string) string {
	b := []byte(s)
	LowerBytes(b)
	return string(b)
}

// LowerBytes is LowerText in place.
func LowerBytes(b []byte) {
	for i, c := range b {
		b[i] = Lower(c)
	}
}

// IsASCII reports whether all bytes are ASCII.
func IsASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
