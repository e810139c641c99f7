package canon

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// scrapyNetloc writes userinfo, host and port anew: the userinfo decoded and escaped
// again, the host in ASCII, an IPv6 address in its shortest form, the port without zeros.
func scrapyNetloc(netloc string) (string, error) {
	userinfo, host := "", netloc
	if i := strings.LastIndexByte(netloc, '@'); i >= 0 {
		user, password, hasPassword := strings.Cut(netloc[:i], ":")
		userinfo = string(escapeOutside(nil, unescape(user), w3libUserSafe))
		if hasPassword {
			userinfo += ":" + string(escapeOutside(nil, unescape(password), w3libUserSafe))
		}
		userinfo, host = userinfo+"@", netloc[i+1:]
	}
	host, port := cutScrapyPort(host, strings.Contains(netloc, "["))
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || strings.HasPrefix(port, "+") {
			return "", fmt.Errorf("port %s, which is no number up to 65535: %w", quote(port), ErrURL)
		}
		port = ":" + strconv.FormatUint(n, 10)
	}
	name, zone := cutBefore(host, "%")
	host = pyLower(name) + zone
	if strings.Contains(host, ":") {
		if !isASCII(host) {
			return "", fmt.Errorf("address %s that is not ASCII: %w", quote(host), ErrURL)
		}
		host = "[" + shortestIPv6(strings.ToLower(host)) + "]"
	} else {
		host = pyLower(scrapyASCII(host))
	}
	return userinfo + host + port, nil
}

// scrapyASCII maps a host to ASCII after NFKC, and leaves one that cannot be mapped.
func scrapyASCII(host string) string {
	if isASCII(host) {
		return host
	}
	plain := strings.NewReplacer("@", "", ":", "", "#", "", "?", "").Replace(host)
	if ascii, ok := idna2003(norm.NFKC.String(plain)); ok {
		return ascii
	}
	return host
}

// cutScrapyPort cuts at the brackets where there are any, else at the first colon.
func cutScrapyPort(s string, brackets bool) (host, port string) {
	if !brackets {
		host, port, _ = strings.Cut(s, ":")
		return host, port
	}
	_, s, _ = strings.Cut(s, "[")
	host, s, _ = strings.Cut(s, "]")
	_, port, _ = strings.Cut(s, ":")
	return host, port
}

// shortestIPv6 writes an address as RFC 5952 does, without its mixed notation. What is no
// address stays.
func shortestIPv6(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	zone := ""
	if a.Zone() != "" {
		zone = "%" + a.Zone()
	}
	if !a.Is4In6() {
		return a.WithZone("").String() + zone
	}
	b := a.As16()
	return fmt.Sprintf("::ffff:%x:%x%s", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]), zone)
}
