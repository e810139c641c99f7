package canon

import (
	"net/netip"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// SafeBrowsing writes URLs as Google's Safe Browsing and Web Risk do before they hash
// them ("URLs and Hashing", of the v4 API, with the IPv6 step of v5). The fragment is removed.
// Then the escapes of the whole URL are decoded until none is left, the URL is split into its
// parts, and characters that need it are escaped once. Userinfo and port are removed; the query
// stays as it is, also an empty one.
//
// Where the text is silent: a URL without "://" gets "http://"; a host with UTF-8 in it is
// mapped by UTS #46 and, if that fails, escaped like any text; an address out of range is
// a name. A URL without a host is refused with [ErrURL], one like "mailto:a" with [ErrScheme].
//
// Laws: idempotence. No WHATWG fixpoint: "%23" in a host stays.
func SafeBrowsing() *Profile {
	return fixed(RuleInfo{
		Rule: "safebrowsing", Does: "writes URLs as Safe Browsing hashes them", Source: "developers.google.com/safe-browsing, URLs and Hashing",
		Risk: "pages that differ in port, user, or in how often something is escaped, meet",
	}, ofText(safeBrowsing))
}

func safeBrowsing(raw string) (string, error) {
	s := dropNewlines(strings.Trim(raw, " "))
	s, _, _ = strings.Cut(s, "#")
	scheme, s, err := cutWebScheme(unescapeFully(s))
	if err != nil {
		return "", err
	}
	authority, s := cutBefore(s, "/?")
	host := webHost(authority)
	if host == "" {
		return "", fault.As(ErrURL, "cannot canonicalize for Safe Browsing; got %s; want a host", quote(raw))
	}
	path, query := cutBefore(s, "?")
	path = collapseRuns(resolveDots(path), '/')
	return scheme + "://" + string(escapeMinimal(nil, host+path+query)), nil
}

// cutWebScheme returns the scheme in lower case and what follows "://".
func cutWebScheme(s string) (scheme, rest string, err error) {
	n := schemeLen(s)
	if n < 0 {
		return "http", s, nil
	}
	if rest, ok := strings.CutPrefix(s[n:], "://"); ok {
		return strings.ToLower(s[:n]), rest, nil
	}
	if port, _ := cutBefore(s[n+1:], "/?"); !allDigits([]byte(port)) {
		return "", "", fault.As(ErrScheme, "cannot canonicalize for Safe Browsing; got %s; want \"://\" after the scheme", quote(s))
	}
	return "http", s, nil // a host and a port
}

// webHost finds the host in an authority and normalizes it.
func webHost(authority string) string {
	host := trimDotsAndPort(authority[strings.LastIndexByte(authority, '@')+1:])
	if inner, ok := strings.CutSuffix(host, "]"); ok && strings.HasPrefix(inner, "[") {
		if ip, ok := webIPv6(inner[1:]); ok {
			return ip
		}
	}
	if !isASCII(host) {
		if mapped, err := hostToASCII(host); err == nil && checkHost(mapped) == nil && mapped[0] != '[' {
			host = trimDotsAndPort(mapped)
		}
	}
	host = asciiLower(host)
	if endsInNumber(host) {
		if ip, err := canonicalIPv4(host); err == nil {
			return ip
		}
	}
	return host
}

// trimDotsAndPort drops dots around the host and a port after it, as long as there are
// any, then writes one dot for each run of them.
func trimDotsAndPort(host string) string {
	for {
		trimmed := strings.Trim(host, ".")
		if i := strings.LastIndexByte(trimmed, ':'); i >= 0 && allDigits([]byte(trimmed[i+1:])) {
			trimmed = trimmed[:i]
		}
		if trimmed == host {
			return collapseRuns(host, '.')
		}
		host = trimmed
	}
}

// webIPv6 writes an IPv6 address in its shortest form, and one that stands for an IPv4
// address (mapped, or NAT64) as that.
func webIPv6(s string) (string, bool) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return "", false
	}
	if b := a.As16(); a.Is4In6() || netip.MustParsePrefix("64:ff9b::/96").Contains(a) {
		return netip.AddrFrom4([4]byte(b[12:])).String(), true
	}
	return "[" + a.String() + "]", true
}

func asciiLower(s string) string {
	b := []byte(s)
	lowerASCII(b)
	return string(b)
}
