package whatwg

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/uts46"
)

// maxLabel bounds a non-ASCII label, in bytes. Punycode takes quadratic time; the
// longest label the DNS can carry has 63 bytes.
const maxLabel = 1000

// ToASCII maps a host that has non-ASCII letters to its xn-- form (the domain parser of
// the URL Standard, section 3.3). An ASCII host stays as it is, whatever its xn-- labels
// encode: since June 2026 the standard lets those pass that UTS #46 would refuse.
func ToASCII(host string) (string, error) {
	if IsASCII(host) {
		return host, nil
	}
	// A bad byte would be mapped as U+FFFD, and so hosts would merge.
	if !utf8.ValidString(host) {
		return "", fault.As(ErrURL, "cannot map host; got %s; want UTF-8", Quote(host))
	}
	if n := longestLabel(host); n > maxLabel {
		return "", fault.As(ErrURL, "cannot map host; got a label of %d bytes; want at most %d", n, maxLabel)
	}
	ascii, err := uts46.ToASCII(host)
	if err != nil {
		return "", fault.As(ErrURL, "cannot map host; got %s; want one that UTS #46 allows (%v)", Quote(host), err)
	}
	return ascii, nil
}

// forbiddenHost has the forbidden host code points, forbiddenDomain the forbidden domain code points.
var (
	forbiddenHost   = SetOf("\x00\t\n\r #/:<>?@[\\]^|")
	forbiddenDomain = SetOf("\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f" +
		"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f #%/:<>?@[\\]^|\x7f")
)

// isDot knows the ASCII dot and the three others that UTS #46 maps to it.
func isDot(r rune) bool {
	return r == '.' || r == '\u3002' || r == '\uff0e' || r == '\uff61'
}

func longestLabel(host string) int {
	longest := 0
	for label := range strings.FieldsFuncSeq(host, isDot) {
		longest = max(longest, len(label))
	}
	return longest
}

// forbiddenIn is the error of a host that contains a forbidden code point.
func forbiddenIn(host string, c byte) error {
	name := strconv.QuoteRune(rune(c))
	if c == ' ' {
		name = "a space"
	}
	return fault.As(ErrURL, "cannot canonicalize; got host %s, which contains %s; want a host without it", Quote(host), name)
}

// CheckHost refuses a host that is empty or holds a forbidden domain code point, which
// decoding and mapping can bring in ("%2F", "／").
func CheckHost(host string) error {
	if host == "" {
		return fault.As(ErrURL, "cannot canonicalize; got an empty host; want one")
	}
	for i := range len(host) {
		if c := host[i]; forbiddenDomain[c] {
			return forbiddenIn(host, c)
		}
	}
	return nil
}

// CanonicalAddress writes an IP address canonically and leaves a name as it is. It refuses what CheckHost refuses.
// literal means that the host was found in brackets.
func CanonicalAddress(host string, literal bool) (string, error) {
	if literal {
		return CanonicalIPv6(host)
	}
	if err := CheckHost(host); err != nil || !EndsInNumber(host) {
		return host, err
	}
	return CanonicalIPv4(host)
}

// canonicalHost is the host parser of the URL Standard (3.5) for special schemes.
func canonicalHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		return CanonicalIPv6(LowerText(host))
	}
	host, err := ToASCII(LowerText(Unescape(host)))
	if err != nil {
		return "", err
	}
	return CanonicalAddress(host, false)
}

// CanonicalPort reads a port with its colon, ":0080", and returns it without leading zeros, or "" if it is
// empty or the scheme's default.
func CanonicalPort(scheme, port string) (string, error) {
	number := strings.TrimPrefix(port, ":")
	trimmed := strings.TrimLeft(number, "0")
	if trimmed == "" && number != "" {
		trimmed = "0"
	}
	// Numbers of equal length compare as text.
	if strings.Trim(number, Digits) != "" || len(trimmed) > 5 || len(trimmed) == 5 && trimmed > "65535" {
		return "", fault.As(ErrURL, "cannot read port; got %s; want a number up to 65535", Quote(port))
	}
	if trimmed == "" || trimmed == DefaultPort(scheme) {
		return "", nil
	}
	return ":" + trimmed, nil
}

// CanonicalIPv6 reads "[0:0::1]" and writes "[::1]" (URL Standard 3.5, IPv6 parser).
func CanonicalIPv6(host string) (string, error) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", fault.As(ErrURL, "cannot read IPv6 address; got %s; want RFC 4291 form without zone", Quote(host))
	}
	return "[" + IPv6(addr) + "]", nil
}

// IPv6 writes an address without its zone. The URL Standard writes mapped addresses in hexadecimal, RFC 5952 (and netip)
// doesn't.
func IPv6(addr netip.Addr) string {
	if !addr.Is4In6() {
		return addr.WithZone("").String()
	}
	b := addr.As16()
	return fmt.Sprintf("::ffff:%x:%x", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]))
}

// EndsInNumber reports whether the last label makes the host an IPv4 address or an error.
func EndsInNumber(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, Digits) == "" {
		return true
	}
	_, ok := parseIPv4Number(last)
	return ok
}

// CanonicalIPv4 reads one to four numbers; the last fills all bytes that are left.
func CanonicalIPv4(host string) (string, error) {
	fail := func() (string, error) {
		return "", fault.As(ErrURL, "cannot read IPv4 address; got %s; want up to four numbers of at most 255, of which the last fills the bytes that remain", Quote(host))
	}
	numbers := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(numbers) > 4 {
		return fail()
	}
	var addr uint64
	for i, text := range numbers {
		n, ok := parseIPv4Number(text)
		left := 4 - i // bytes this number may fill if it is the last
		if i < len(numbers)-1 {
			left = 1
		}
		if !ok || n >= 1<<(8*left) {
			return fail()
		}
		addr |= n << (8 * (4 - i - left))
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}).String(), nil
}

// parseIPv4Number reads decimal, 0-octal and 0x-hexadecimal; "0x" alone is 0.
// A number too large for 64 bits comes out as the largest there is.
func parseIPv4Number(s string) (uint64, bool) {
	base, allowed := 10, Digits
	switch {
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		if s, base, allowed = s[2:], 16, Digits+"abcdefABCDEF"; s == "" {
			return 0, true
		}
	case len(s) >= 2 && s[0] == '0':
		s, base, allowed = s[1:], 8, "01234567"
	}
	// Looked at whole first: ParseUint stops where the value overflows.
	if s == "" || strings.Trim(s, allowed) != "" {
		return 0, false
	}
	n, _ := strconv.ParseUint(s, base, 64)
	return n, true
}
