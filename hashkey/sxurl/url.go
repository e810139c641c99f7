package sxurl

import (
	"cmp"
	"iter"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/firstseen/firstseen/internal/fault"
)

// URL is a parsed URL of any scheme, for questions that a key cannot answer.
// It is immutable.
type URL struct {
	raw, canonical string
	pieces         pieces
	crate          bool
}

// ParseURL parses a URL by the URL Standard. It fails with [ErrURL].
func ParseURL(raw string) (*URL, error) { return Codec{}.ParseURL(raw) }

// ParseURL is [ParseURL]; with Crate the methods of the URL answer as the crate does.
func (c Codec) ParseURL(raw string) (*URL, error) {
	canonical, err := canonicalize(raw)
	if err != nil {
		return nil, err
	}
	return &URL{raw: raw, canonical: canonical, pieces: split(canonical), crate: c.Crate}, nil
}

// String returns the URL as the URL Standard writes it.
func (u *URL) String() string { return u.canonical }

// IsHTTPS reports whether the scheme is https. With Crate, only a URL that begins with the
// lower-case letters "https://" counts.
func (u *URL) IsHTTPS() bool {
	if u.crate {
		return strings.HasPrefix(u.raw, "https://")
	}
	return u.pieces.scheme == "https"
}

// HasQuery reports whether the URL has a query, which may be empty. With Crate it reports
// whether the URL contains a "?", even in a fragment.
func (u *URL) HasQuery() bool {
	if u.crate {
		return strings.Contains(u.raw, "?")
	}
	return u.pieces.hasQuery
}

// HasFragment reports whether there is a fragment, be it empty.
func (u *URL) HasFragment() bool { return u.pieces.hasFragment }

// Port returns the port as written, even if it is the scheme's default; ok is false if there is
// none. With Crate, a default port counts as written if the text contains the host and a colon
// anywhere; for unknown schemes the result is then 80.
func (u *URL) Port() (port uint16, ok bool) {
	switch {
	case u.pieces.hasPort:
		return u.pieces.port, true
	case u.crate:
		if !u.pieces.hasHost || !strings.Contains(u.raw, u.pieces.host+":") {
			return 0, false
		}
		return cmp.Or(defaultPort(u.pieces.scheme), 80), true
	}
	return u.writtenPort()
}

// writtenPort is the port of the raw text, which has survived parsing as no port at all:
// it is that of the scheme, or not there.
func (u *URL) writtenPort() (uint16, bool) {
	text := strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, u.raw)
	_, rest, _ := strings.Cut(text, ":")
	rest = strings.TrimLeft(rest, `/\`)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	rest = strings.TrimRight(rest, " ")
	digits := rest[strings.LastIndexAny(rest, ":@]")+1:]
	n, err := strconv.ParseUint(digits, 10, 16)
	ok := err == nil && strings.HasSuffix(rest, ":"+digits)
	if !u.pieces.hasHost || !ok {
		return 0, false
	}
	return uint16(n), true
}

// SplitHost splits the host as [SplitHost] does. A URL without host fails with [ErrHost], and
// so does an IP address, which the crate splits at its dots.
func (u *URL) SplitHost() (tld, domain, subdomain string, err error) {
	host := u.pieces.host
	if host == "" || !u.crate && isAddress(host) {
		return "", "", "", hostError(host, "a DNS name", ErrHost)
	}
	return SplitHost(host)
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// Segments returns the segments of the path that are not empty, as they are written:
// escapes stay.
func (u *URL) Segments() []string {
	if !strings.HasPrefix(u.pieces.path, "/") {
		return nil
	}
	return strings.FieldsFunc(u.pieces.path, func(r rune) bool { return r == '/' })
}

// Filename returns the last segment if it has a dot or is the only one. After a slash at the end
// there is no file name; with Crate it is then the last folder.
func (u *URL) Filename() (name string, ok bool) {
	segments := u.Segments()
	if len(segments) == 0 || !u.crate && strings.HasSuffix(u.pieces.path, "/") {
		return "", false
	}
	name = segments[len(segments)-1]
	if len(segments) == 1 || strings.Contains(name, ".") {
		return name, true
	}
	return "", false
}

// Params yields the query's names and values in order, decoded as a form. Repeats are all
// there.
func (u *URL) Params() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for pair := range strings.SplitSeq(u.pieces.query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			if pair != "" && !yield(decodeForm(name), decodeForm(value)) {
				return
			}
		}
	}
}

// Param returns the last value of a name in the query.
func (u *URL) Param(name string) (value string, ok bool) {
	for n, v := range u.Params() {
		if n == name {
			value, ok = v, true
		}
	}
	return value, ok
}

func decodeForm(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				c = '%'
			} else {
				i += 2
			}
			b.WriteByte(byte(c))
		default:
			b.WriteByte(s[i])
		}
	}
	return mendUTF8(b.String())
}

// mendUTF8 puts U+FFFD for each longest piece that only begins a character, as the
// Encoding Standard does.
func mendUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		b.WriteRune(r)
		for k := 3; r == utf8.RuneError && n == 1 && k > 1; k-- {
			if k <= len(s) && !utf8.FullRuneInString(s[:k]) {
				n = k
			}
		}
		s = s[n:]
	}
	return b.String()
}

// Get returns a component; ok is false if the URL does not have it. Only the parts of a
// host can fail, as [URL.SplitHost]; with the crate all components fail then.
func (u *URL) Get(c Component) (value string, ok bool, err error) {
	tld, domain, subdomain, err := u.SplitHost()
	if err != nil && u.crate {
		return "", false, err
	}
	switch c {
	case TLD:
		return tld, err == nil, err
	case Domain:
		return domain, err == nil, err
	case Subdomain:
		return subdomain, subdomain != "", err
	case Port:
		port, ok := u.Port()
		if !ok {
			return "", false, nil
		}
		return strconv.Itoa(int(port)), true, nil
	}
	value, ok = u.get(c)
	if !ok && value != "" {
		return "", false, fault.As(ErrComponent, "cannot get component; got %q; want one of a URL", c)
	}
	return value, ok, nil
}

// get returns the components that cannot fail; the name of an unknown one, and false.
func (u *URL) get(c Component) (value string, ok bool) {
	switch c {
	case Scheme:
		return u.pieces.scheme, true
	case Host:
		return u.pieces.host, u.pieces.hasHost
	case Path:
		return u.pieces.path, true
	case Query:
		return u.pieces.query, u.pieces.hasQuery
	case Fragment:
		return u.pieces.fragment, u.pieces.hasFragment
	case PathSegments:
		segments := u.Segments()
		return strings.Join(segments, ","), len(segments) > 0
	case Filename:
		return u.Filename()
	}
	return "unknown " + string(c), false
}
