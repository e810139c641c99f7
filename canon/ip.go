package canon

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// canonicalIPv6 reads "[0:0::1]" and writes "[::1]" (URL Standard 3.5, IPv6 parser).
func canonicalIPv6(host string) (string, error) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", fault.As(ErrURL, "cannot read IPv6 address; got %s; want RFC 4291 form without zone", quote(host))
	}
	if !addr.Is4In6() {
		return "[" + addr.String() + "]", nil
	}
	// The URL Standard writes mapped addresses in hexadecimal, RFC 5952 (and netip) doesn't.
	b := addr.As16()
	return fmt.Sprintf("[::ffff:%x:%x]", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15])), nil
}

// endsInNumber reports whether the last label makes the host an IPv4 address or an error.
func endsInNumber(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, digits) == "" {
		return true
	}
	_, ok := parseIPv4Number(last)
	return ok
}

// canonicalIPv4 reads one to four numbers; the last fills all bytes that are left.
func canonicalIPv4(host string) (string, error) {
	fail := func() (string, error) {
		return "", fault.As(ErrURL, "cannot read IPv4 address; got %s; want up to four numbers of at most 255, of which the last fills the bytes that remain", quote(host))
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
	base, allowed := 10, digits
	switch {
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		if s, base, allowed = s[2:], 16, digits+"abcdefABCDEF"; s == "" {
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
