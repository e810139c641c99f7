package foreign

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// Scrapy is the profile scrapy of package canon.
func Scrapy(raw string) (string, error) {
	u, err := scrapySplit(raw)
	if err != nil {
		return "", fmt.Errorf("cannot canonicalize as w3lib does; got %s: %w", whatwg.Quote(raw), err)
	}
	if u.netloc, err = scrapyNetloc(u.netloc); err != nil {
		return "", fmt.Errorf("cannot canonicalize as w3lib does; got %s: %w", whatwg.Quote(raw), err)
	}
	path, params := cutParams(u.scheme, whatwg.Escape(u.path, w3libSafe))
	switch {
	case path == "":
		path = "/"
	case path[0] == '/':
		path = resolveDots(scrapyPath(path))
	default:
		path = scrapyPath(path)
	}
	u.path, u.query, u.fragment = path+params, scrapyQuery(u.query, u.scheme), ""
	return scrapyJoin(u), nil
}

// What w3lib leaves raw: whatever is legal in all of RFC 2396, RFC 3986 and WHATWG
// URLs, and "%"; and in the second pass over a path also what RFC 3986 reserves.
var (
	w3libSafe     = whatwg.SetOf(whatwg.Unreserved + whatwg.SubDelims + ":/?@%")
	w3libPathSafe = whatwg.SetOf(whatwg.Unreserved + whatwg.SubDelims + ":/?@%[]|")
	w3libUserSafe = whatwg.SetOf(whatwg.Unreserved + "!$&'()*+,")
)

// scrapySplit cuts as w3lib's own urlsplit: like Python's, but blanks go at both ends,
// "\" is "/" in special schemes, and bytes that are not UTF-8 become escapes first.
func scrapySplit(raw string) (pyURL, error) {
	return cutPy(whatwg.DropNewlines(whatwg.TrimSpace(whatwg.UTF8(raw))), whatwg.IsSpecial, scrapyCheckNetloc)
}

// scrapyJoin is like join, but an authority that is empty is written only before a path
// that begins with a slash, and always before one that begins with two.
func scrapyJoin(u pyURL) string {
	s := u.path
	switch {
	case u.netloc != "":
		if s[0] != '/' {
			s = "/" + s
		}
		s = "//" + u.netloc + s
	case strings.HasPrefix(s, "//") || pyUsesNetloc(u.scheme) && s[0] == '/':
		s = "//" + s
	}
	return u.around(s)
}

func scrapyCheckNetloc(netloc string) error {
	opens, closes := strings.Contains(netloc, "["), strings.Contains(netloc, "]")
	if opens != closes {
		return fault.As(whatwg.ErrURL, "unbalanced brackets")
	}
	if opens {
		host := netloc[strings.LastIndexByte(netloc, '@')+1:]
		before, inside, hasOpen := strings.Cut(host, "[")
		inside, after, _ := strings.Cut(inside, "]")
		if !hasOpen {
			before, inside, after = "", strings.SplitN(host, ":", 2)[0], ""
		}
		if before != "" || after != "" && after[0] != ':' || !pyBracketed(inside) {
			return fault.As(whatwg.ErrURL, "text in brackets that is not an IPv6 address")
		}
	}
	return pyCheckNFKC(netloc, `/?#@:\`)
}

// scrapyNetloc rebuilds userinfo, host and port: the userinfo decoded and escaped
// again, the host in ASCII, an IPv6 address in its shortest form, the port without zeros.
func scrapyNetloc(netloc string) (string, error) {
	userinfo, host := "", netloc
	if i := strings.LastIndexByte(netloc, '@'); i >= 0 {
		user, password, hasPassword := strings.Cut(netloc[:i], ":")
		userinfo = whatwg.Escape(whatwg.Unescape(user), w3libUserSafe)
		if hasPassword {
			userinfo += ":" + whatwg.Escape(whatwg.Unescape(password), w3libUserSafe)
		}
		userinfo, host = userinfo+"@", netloc[i+1:]
	}
	host, port := cutScrapyPort(host, strings.Contains(netloc, "["))
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || strings.HasPrefix(port, "+") {
			return "", fault.As(whatwg.ErrURL, "port %s, which is no number up to 65535", whatwg.Quote(port))
		}
		port = ":" + strconv.FormatUint(n, 10)
	}
	name, zone := whatwg.CutBefore(host, "%")
	host = pyLower(name) + zone
	if strings.Contains(host, ":") {
		if !whatwg.IsASCII(host) {
			return "", fault.As(whatwg.ErrURL, "address %s that is not ASCII", whatwg.Quote(host))
		}
		host = "[" + shortestIPv6(strings.ToLower(host)) + "]"
	} else {
		host = pyLower(scrapyASCII(host))
	}
	return userinfo + host + port, nil
}

// scrapyASCII maps a host to ASCII after NFKC, and leaves one that cannot be mapped.
func scrapyASCII(host string) string {
	if whatwg.IsASCII(host) {
		return host
	}
	if ascii, ok := idna2003(norm.NFKC.String(pyWithoutSeparators.Replace(host))); ok {
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
	if a.Zone() != "" {
		return whatwg.IPv6(a) + "%" + a.Zone()
	}
	return whatwg.IPv6(a)
}

// cutParams cuts off the parameters of the last segment, with their ";", in the schemes
// that had them in RFC 2396. They take no part in the decoding of the path.
func cutParams(scheme, path string) (string, string) {
	switch scheme {
	case "", "ftp", "hdl", "prospero", "http", "imap", "https", "shttp", "rtsp", "rtsps", "rtspu", "sip", "sips", "mms", "sftp", "tel":
		last := strings.LastIndexByte(path, '/') + 1
		if i := strings.IndexByte(path[last:], ';'); i >= 0 {
			path, params := path[:last+i], path[last+i:]
			if params == ";" {
				params = ""
			}
			return path, params
		}
	}
	return path, ""
}

// scrapyPath decodes a path but for what would become a separator, and escapes it again.
// A stray "%" stays.
func scrapyPath(path string) string {
	var b []byte
	for i := 0; i < len(path); i++ {
		if !whatwg.IsEscape(path, i) {
			b = whatwg.AppendEscaped(b, path[i:i+1], w3libPathSafe)
			continue
		}
		c := whatwg.Escaped(path, i)
		if c != '%' && c != '/' && c != ';' && c != '?' && w3libPathSafe[c] {
			b = append(b, c)
		} else {
			b = whatwg.AppendEscape(b, c)
		}
		i += 2
	}
	return string(b)
}

// scrapyQuery decodes each parameter as a form does, sorts by name and value, and encodes
// all but unreserved characters. "a" becomes "a=", empty parameters go.
func scrapyQuery(query, scheme string) string {
	safe := *w3libSafe
	safe['\''] = !whatwg.IsSpecial(scheme)
	query = whatwg.Escape(query, &safe)
	type param struct{ name, value string }
	var params []param
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			name, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", " "), "=")
			params = append(params, param{whatwg.Unescape(name), whatwg.Unescape(value)})
		}
	}
	slices.SortFunc(params, func(a, b param) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	pairs := make([]string, len(params))
	for i, p := range params {
		pairs[i] = encodeForm(p.name) + "=" + encodeForm(p.value)
	}
	return strings.Join(pairs, "&")
}

// encodeForm encodes s as an HTML form does.
func encodeForm(s string) string {
	return strings.ReplaceAll(whatwg.Escape(s, whatwg.IsUnreserved), "%20", "+")
}
