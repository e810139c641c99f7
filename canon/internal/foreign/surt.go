package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// SURT is the profile surt of package canon.
func SURT(raw string) (string, error) {
	if raw == "" {
		return "-", nil
	}
	if strings.HasPrefix(raw, "filedesc") {
		return raw, nil
	}
	u, err := splitSURT(raw)
	if err != nil {
		return "", err
	}
	host, path, query := surtHost(u.host), unescapeFully(u.path), surtQuery(u.query)
	if host != "" {
		path = surtDots(path)
	}
	path = surtPath(escapeMinimal(path))
	switch {
	case host == "": // there was none, or nothing is left of it
		host = u.scheme + ":"
	case u.port != 0 && u.port != surtDefaultPort(u.scheme):
		host = fmt.Sprintf("%s:%d)", host, u.port)
	default:
		host += ")"
	}
	if query != "" {
		path = cmp.Or(path, "/") + "?" + query
	}
	return host + path, nil
}

func surtDefaultPort(scheme string) uint64 {
	switch strings.ToLower(scheme) {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// surtHost reverses the labels of a host without its leading "www.", "www2." and so on.
// Addresses are reversed like names, and an IPv6 address has lost its brackets before.
func surtHost(raw string) string {
	host := surtASCII(raw)
	if rest := strings.TrimLeft(strings.TrimPrefix(host, "www"), whatwg.Digits); strings.HasPrefix(host, "www") && strings.HasPrefix(rest, ".") {
		host = rest[1:]
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ",")
}

// surtURL is what a SURT is made of. An empty host stands for none, port 0 for none.
type surtURL struct {
	scheme, host, path, query string
	port                      uint64
}

// splitSURT cuts a URL leniently: "http://" is put before what has no scheme, only the
// last of several schemes in a row counts, and an http URL takes its host from the path
// if there is none where it should be.
func splitSURT(raw string) (surtURL, error) {
	s := whatwg.DropNewlines(strings.Trim(raw, " \t\n\r\v\f"))
	if s == "" {
		return surtURL{}, fault.As(whatwg.ErrURL, "cannot make a SURT; got %s; want more than blanks", whatwg.Quote(raw))
	}
	if whatwg.SchemeLen(s) < 0 {
		s = "http://" + s
	}
	s = lastScheme(s)
	n := whatwg.SchemeLen(s)
	u := surtURL{scheme: s[:n]}
	s, _, _ = strings.Cut(s[n+1:], "#")
	s, u.query, _ = strings.Cut(s, "?")
	if strings.HasPrefix(s, "//") {
		var err error
		if u.host, u.port, s, err = cutSURTHost(s[2:]); err != nil {
			return u, fmt.Errorf("cannot make a SURT; got %s: %w", whatwg.Quote(raw), err)
		}
	}
	if u.path = s; u.host == "" && s != "" && strings.HasPrefix(u.scheme, "http") {
		u.host, s, _ = strings.Cut(strings.TrimLeft(s, "/"), "/")
		u.path = "/" + s
	}
	return u, nil
}

// lastScheme drops "http://" and "https://" that stand before another of them.
func lastScheme(s string) string {
	isWeb := func(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }
	for isWeb(s) {
		rest := s[strings.Index(s, "//")+2:]
		if !isWeb(rest) {
			break
		}
		s = rest
	}
	return s
}

// cutSURTHost cuts off an authority and returns its host without brackets and userinfo,
// its port, and the path after it.
func cutSURTHost(s string) (host string, port uint64, path string, err error) {
	authority, path := whatwg.CutBefore(s, "/")
	authority = strings.TrimRight(authority, ":")
	host = authority[strings.LastIndexByte(authority, '@')+1:]
	number, hasPort := "", false
	if _, inside, ok := strings.Cut(host, "["); ok {
		host, number, _ = strings.Cut(inside, "]")
		_, number, hasPort = strings.Cut(number, ":")
	} else {
		host, number, hasPort = strings.Cut(host, ":")
	}
	if !hasPort {
		return host, 0, path, nil
	}
	if number == "" || !isNumber(number) {
		return "", 0, "", fault.As(whatwg.ErrURL, "port %s, which is no number", whatwg.Quote(number))
	}
	if port, err = strconv.ParseUint(number, 10, 16); err != nil {
		return "", 0, "", fault.As(whatwg.ErrURL, "port %s above 65535", whatwg.Quote(number))
	}
	return host, port, path, nil
}

// surtASCII is the host half of the Safe Browsing rules as surt has them: decoded, mapped
// by IDNA 2003 if that works, without needless dots, an IPv4 address in decimal.
func surtASCII(raw string) string {
	host := unescapeFully(raw)
	if ascii, ok := idna2003(strings.ToValidUTF8(host, "")); ok {
		host = ascii
	}
	host = strings.ReplaceAll(strings.Trim(host, "."), "..", ".") // three dots leave two
	if ip := surtIPv4(host); ip != "" {
		return ip
	}
	return whatwg.LowerText(escapeMinimal(host))
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
	if host != "" && isNumber(host) {
		var n uint32
		for i := range len(host) {
			n = n*10 + uint32(host[i]-'0')
		}
		return fmt.Sprintf("%d.%d.%d.%d", n>>24, n>>16&255, n>>8&255, n&255)
	}
	if !dottedOctal.MatchString(host) && !dottedDecimal.MatchString(host) {
		return ""
	}
	ip, err := whatwg.CanonicalIPv4(host)
	if err != nil {
		return ""
	}
	return ip
}

// surtDots resolves dot segments and drops empty ones. A ".." at the root stays, to be
// taken off by the next one, and a dot segment at the end leaves no slash.
func surtDots(path string) string {
	var kept []string
	for i, s := range strings.Split(path, "/") {
		switch {
		case i == 0 || s == ".":
		case s == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	last := len(kept) - 1
	names := slices.DeleteFunc(kept[:last:last], func(s string) bool { return s == "" })
	return "/" + strings.Join(append(names, kept[last]), "/")
}

// A session is a pattern of session ids, in lower case, and a word without which it
// cannot match. Of several matches the last one goes.
type session struct {
	word    string
	pattern *regexp.Regexp
}

// The session ids that surt knows: ASP.NET's in the path, and in the query those of
// Java, PHP, plain "sid", ASP and ColdFusion.
var (
	pathSessions = []session{
		{".aspx", regexp.MustCompile(`^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$`)},
		{".aspx", regexp.MustCompile(`^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$`)},
	}
	querySessions = []session{
		{"jsessionid=", regexp.MustCompile(`^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`)},
		{"phpsessid=", regexp.MustCompile(`^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`)},
		{"sid=", regexp.MustCompile(`^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`)},
		{"aspsessionid", regexp.MustCompile(`^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`)},
		{"cftoken=", regexp.MustCompile(`^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`)},
	}
)

func stripSessions(s string, sessions []session) string {
	for _, x := range sessions {
		if strings.Contains(s, x.word) {
			s = x.pattern.ReplaceAllString(s, "$1$2")
		}
	}
	return s
}

// surtPath takes an escaped path to lower case, without session ids and without one
// slash at the end.
func surtPath(path string) string {
	path = stripSessions(whatwg.LowerText(path), pathSessions)
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// surtQuery decodes and escapes the query as a whole, so that "%26" comes to separate,
// and sorts by name, then value; a parameter without "=" comes before one with it.
func surtQuery(query string) string {
	query = escapeMinimal(unescapeFully(query))
	params := strings.Split(stripSessions(whatwg.LowerText(query), querySessions), "&")
	slices.SortStableFunc(params, func(a, b string) int {
		return cmp.Or(compareParams(a, b), len(a)-len(b)) // "a" before "a="
	})
	return strings.Join(params, "&")
}
