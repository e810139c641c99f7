package sxurl

import (
	"fmt"
	"iter"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// parse parses a URL by the URL Standard. It fails with [ErrURL].
func parse(url string) (p whatwg.Parts, err error) {
	if u, ok := whatwg.ParsePlain(url); ok {
		return whatwg.Parts{Scheme: url[:u.SchemeLen], Slashes: "://", Host: url[u.SchemeLen+3 : u.HostEnd], Port: url[u.HostEnd:u.Path],
			Path: url[u.Path:u.PathEnd], Query: url[u.PathEnd:u.QueryEnd], Fragment: url[u.QueryEnd:]}, nil
	}
	if len(url) > canon.DefaultMaxLength {
		return p, urlError{fault.As(canon.ErrTooLong, "cannot parse URL; got %d bytes; want at most %d", len(url), canon.DefaultMaxLength)}
	}
	if p, err = whatwg.Parse(url); err != nil {
		return p, urlError{err}
	}
	return p, nil
}

// urlError is an error of package canon that is also ErrURL.
type urlError struct{ error }

func (e urlError) Unwrap() []error { return []error{e.error, ErrURL} }

// short is as much of a URL as an error should quote.
func short(url string) string {
	const most = 200
	return url[:min(len(url), most)]
}

// Parts are the components of a URL as they are encoded: as the URL Standard writes them,
// the host in ASCII. User and password have no place in an SXURL.
type Parts struct {
	Scheme                 string // "https", "http" or "ftp"
	TLD, Domain, Subdomain string // Subdomain is "" if there is none
	Port                   uint16 // that of the scheme if none is given
	Path                   string // at least "/"
	Query, Fragment        string // "" if absent or empty
}

// ParseParts takes a URL apart. It fails with [ErrURL], [ErrScheme], [ErrHost],
// [ErrHostLength], [ErrLabel] or [ErrCharacter].
func ParseParts(url string) (p Parts, err error) {
	// What the URL Standard would mend, the crate refuses: no host after the first "://".
	if _, rest, ok := strings.Cut(url, "://"); ok && (rest == "" || rest[0] == '/') {
		return p, fault.As(ErrHost, "cannot parse URL; got %q; want a host after \"://\"", short(url))
	}
	u, err := parse(url)
	if err != nil {
		return p, err
	}
	if u.Host == "" {
		return p, fault.As(ErrHost, "cannot encode URL; got %q; want one with a host", short(u.Join()))
	}
	port := defaultPort(u.Scheme)
	if port == 0 {
		return p, fault.As(ErrScheme, "cannot encode URL; got scheme %q; want https, http or ftp", u.Scheme)
	}
	if u.Port != "" {
		port = number(u.Port)
	}
	p = Parts{Scheme: u.Scheme, Port: port, Path: u.Path, Query: strings.TrimPrefix(u.Query, "?"), Fragment: strings.TrimPrefix(u.Fragment, "#")}
	if err := ValidateHost(u.Host); err != nil {
		return Parts{}, err
	}
	if p.TLD, p.Domain, p.Subdomain, err = SplitHost(u.Host); err != nil {
		return Parts{}, err
	}
	return p, nil
}

// plainRest is all but the host.
func plainRest(url string, u whatwg.Plain) Parts {
	p := Parts{Scheme: url[:u.SchemeLen], Port: u.Port, Path: url[u.Path:u.PathEnd]}
	if u.Port == 0 {
		p.Port = defaultPort(p.Scheme)
	}
	if u.Query > 0 {
		p.Query = url[u.Query:u.QueryEnd]
	}
	if u.Fragment > 0 {
		p.Fragment = url[u.Fragment:]
	}
	return p
}

func defaultPort(scheme string) uint16 {
	switch scheme {
	case "https":
		return 443
	case "http":
		return 80
	case "ftp":
		return 21
	}
	return 0
}

// number reads a port with its colon, which is valid.
func number(port string) uint16 {
	n, _ := strconv.ParseUint(port[1:], 10, 16)
	return uint16(n)
}

// URL is a parsed URL of any scheme, for questions that a key cannot answer.
// It is immutable.
type URL struct {
	raw   string
	parts whatwg.Parts
}

// ParseURL parses a URL by the URL Standard. It fails with [ErrURL].
func ParseURL(raw string) (*URL, error) {
	parts, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return &URL{raw, parts}, nil
}

// String returns the URL as the URL Standard writes it.
func (u *URL) String() string { return u.parts.Join() }

// opaque reports whether the URL has a path without structure.
func (u *URL) opaque() bool { return u.parts.Slashes == ":" && !strings.HasPrefix(u.parts.Path, "/") }

// Port returns the port as written, even if it is the scheme's default; ok is false if there is none.
func (u *URL) Port() (port uint16, ok bool) {
	written := u.parts.Port
	if written == "" && whatwg.DefaultPort(u.parts.Scheme) != "" { // none, or the default
		text := whatwg.DropNewlines(whatwg.TrimSpace(u.raw))
		written = whatwg.CutSpecial(text, len(u.parts.Scheme)).Port
	}
	if len(written) <= len(":") {
		return 0, false
	}
	return number(written), true
}

// SplitHost splits the host as [SplitHost] does. A URL without host fails with [ErrHost], and
// so does an IP address, which the crate splits at its dots.
func (u *URL) SplitHost() (tld, domain, subdomain string, err error) {
	_, notAddress := netip.ParseAddr(strings.Trim(u.parts.Host, "[]"))
	if u.parts.Host == "" || notAddress == nil {
		return "", "", "", hostError(u.parts.Host, "a DNS name", ErrHost)
	}
	return SplitHost(u.parts.Host)
}

// Segments returns the segments of the path that are not empty, as they are written:
// escapes stay.
func (u *URL) Segments() []string {
	if u.opaque() {
		return nil
	}
	return strings.FieldsFunc(u.parts.Path, func(r rune) bool { return r == '/' })
}

// Filename returns the last segment if it has a dot or is the only one. After a slash at the end
// there is no file name.
func (u *URL) Filename() (name string, ok bool) {
	segments := u.Segments()
	if len(segments) == 0 || strings.HasSuffix(u.parts.Path, "/") {
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
		for pair := range strings.SplitSeq(strings.TrimPrefix(u.parts.Query, "?"), "&") {
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
	text, _ := unicode.UTF8.NewDecoder().String(whatwg.Unescape(strings.ReplaceAll(s, "+", " "))) // it replaces what is no UTF-8, and so never fails
	return text
}

// Get returns a component; ok is false if the URL does not have it. Only the parts of a
// host can fail, as [URL.SplitHost].
func (u *URL) Get(c Component) (value string, ok bool, err error) {
	p := &u.parts
	switch c {
	case TLD, Domain, Subdomain:
		tld, domain, subdomain, err := u.SplitHost()
		value = map[Component]string{TLD: tld, Domain: domain, Subdomain: subdomain}[c]
		return value, err == nil && (c != Subdomain || value != ""), err
	case Port:
		port, ok := u.Port()
		if !ok {
			return "", false, nil
		}
		return strconv.Itoa(int(port)), true, nil
	case Scheme:
		return p.Scheme, true, nil
	case Host:
		return p.Host, p.Slashes == "://", nil
	case Path:
		return p.Path, true, nil
	case Query:
		return strings.TrimPrefix(p.Query, "?"), p.Query != "", nil
	case Fragment:
		return strings.TrimPrefix(p.Fragment, "#"), p.Fragment != "", nil
	case PathSegments:
		segments := u.Segments()
		return strings.Join(segments, ","), len(segments) > 0, nil
	case Filename:
		value, ok = u.Filename()
		return value, ok, nil
	}
	return "", false, fault.As(ErrComponent, "cannot get component; got %q; want one of a URL", c)
}

// Without returns the URL without a component: a path becomes "/", a host loses its subdomain, a
// path its file name. The error is [ErrComponent] for Scheme, Host, Domain and TLD, for the port of
// a URL that can have none, and for the path of a URL like "mailto:x". For a subdomain the error is that of
// [URL.SplitHost].
func (u *URL) Without(c Component) (string, error) {
	p := u.parts
	can := true
	switch c {
	case Fragment:
		p.Fragment = ""
	case Query:
		p.Query = ""
	case Port:
		p.Port, can = "", p.Host != "" && p.Scheme != "file"
	case Path, PathSegments:
		p.Path, can = "/", !u.opaque()
	case Filename:
		name, _ := u.Filename()
		p.Path = strings.TrimSuffix(p.Path, name)
	case Subdomain:
		tld, domain, subdomain, err := u.SplitHost()
		if err != nil {
			return "", err
		}
		if subdomain != "" {
			p.Host = domain + "." + tld
		}
	default:
		can = false
	}
	if !can {
		return "", fault.As(ErrComponent, "cannot remove component; got %s of %q; want one that the URL can do without", c, short(u.String()))
	}
	return p.Join(), nil
}

// Join resolves a reference against the URL as if the last segment of its path were a folder:
// "users" joined to "https://h/v1" is "https://h/v1/users". Else it follows the URL
// Standard: "/x" replaces the path, "//h/x" the host, a whole URL everything. It fails
// with [ErrURL], and with [ErrJoin] when the URL has no path to join to.
func (u *URL) Join(ref string) (string, error) {
	p := u.parts
	if !u.opaque() && !strings.HasSuffix(p.Path, "/") {
		p.Path += "/"
	}
	base, err := canon.ParseBase(p.Join())
	if err != nil {
		return "", urlError{err}
	}
	joined := base.Resolve(ref)
	if u.opaque() && whatwg.SchemeLen(whatwg.TrimSpace(joined)) < 0 {
		return "", fault.As(ErrJoin, "cannot join URL; got base %q; want one with a path", short(u.String()))
	}
	made, err := parse(joined)
	if err != nil {
		return "", fmt.Errorf("cannot join URL: %w", err)
	}
	return made.Join(), nil
}
