package canon

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// surtASCII is the host half of the Safe Browsing rules as surt has them: decoded, mapped
// by IDNA 2003 if that works, without needless dots, an IPv4 address in decimal.
func surtASCII(raw string) string {
	host := unescapeFully(raw)
	if ascii, ok := idna2003(dropInvalid(host)); ok {
		host = ascii
	}
	host = strings.ReplaceAll(strings.Trim(host, "."), "..", ".") // three dots leave two
	if ip := surtIPv4(host); ip != "" {
		return ip
	}
	return asciiLower(string(escapeMinimal(nil, host)))
}

// dropInvalid drops bytes that are not part of valid UTF-8.
func dropInvalid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "")
}

// Dotted addresses, by their first number. A host of digits alone is decimal even if it
// begins with 0, and hexadecimal numbers are not looked for.
var (
	dottedOctal   = regexp.MustCompile(`^0[0-7]*(\.[0-7]+){0,3}$`)
	dottedDecimal = regexp.MustCompile(`^[1-9][0-9]*(\.[0-9]+){0,3}$`)
)

// surtIPv4 reads an address as inet_aton does, and a lone number by its last 32 bits.
// It returns "" for a host that is none.
func surtIPv4(host string) string {
	if host != "" && allDigits([]byte(host)) {
		var n uint32
		for i := range len(host) {
			n = n*10 + uint32(host[i]-'0')
		}
		return fmt.Sprintf("%d.%d.%d.%d", n>>24, n>>16&255, n>>8&255, n&255)
	}
	if !dottedOctal.MatchString(host) && !dottedDecimal.MatchString(host) {
		return ""
	}
	ip, err := canonicalIPv4(host)
	if err != nil {
		return ""
	}
	return ip
}
