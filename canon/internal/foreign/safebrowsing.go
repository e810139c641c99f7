package foreign

import (
	"net/netip"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// SafeBrowsing is the profile safebrowsing of package canon.
func SafeBrowsing(raw string) (string, error) {
	s := whatwg.DropNewlines(strings.Trim(raw, " "))
	s, _, _ = strings.Cut(s, "#")
	scheme, s, err := cutWebScheme(unescapeFully(s))
	if err != nil {
		return "", err
	}
	authority, s := whatwg.CutBefore(s, "/?")
	host := webHost(authority)
	if host == "" {
		return "", fault.As(whatwg.ErrURL, "cannot canonicalize for Safe Browsing; got %s; want a host", whatwg.Quote(raw))
	}
	path, query := whatwg.CutBefore(s, "?")
	path = collapseRuns(resolveDots(path), "/")
	return scheme + "://" + escapeMinimal(host+path+query), nil
}

// cutWebScheme returns the scheme in whatwg.Lower case and what follows "://".
func cutWebScheme(s string) (scheme, rest string, err error) {
	n := whatwg.SchemeLen(s)
	if n < 0 {
		return "http", s, nil
	}
	if rest, ok := strings.CutPrefix(s[n:], "://"); ok {
		return strings.ToLower(s[:n]), rest, nil
	}
	if port, _ := whatwg.CutBefore(s[n+1:], "/?"); !isNumber(port) {
		return "", "", fault.As(whatwg.ErrScheme, "cannot canonicalize for Safe Browsing; got %s; want \"://\" after the scheme", whatwg.Quote(s))
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
	if !whatwg.IsASCII(host) {
		if mapped, err := whatwg.ToASCII(host); err == nil && whatwg.CheckHost(mapped) == nil && mapped[0] != '[' {
			host = trimDotsAndPort(mapped)
		}
	}
	host = whatwg.LowerText(host)
	if whatwg.EndsInNumber(host) {
		if ip, err := whatwg.CanonicalIPv4(host); err == nil {
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
		if i := strings.LastIndexByte(trimmed, ':'); i >= 0 && isNumber(trimmed[i+1:]) {
			trimmed = trimmed[:i]
		}
		if trimmed == host {
			return collapseRuns(host, ".")
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
