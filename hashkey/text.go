package hashkey

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/zerocopy"
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
		if _, err := hex.Decode(hash, zerocopy.Bytes(s)); err == nil {
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
