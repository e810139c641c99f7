package sxurl

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/internal/plain"
	"github.com/firstseen/firstseen/internal/fault"
)

// Parts are the components of a URL as they are encoded: as the URL Standard writes them,
// the host in ASCII. User and password have no place in an SXURL.
type Parts struct {
	Scheme                 string // "https", "http" or "ftp"
	TLD, Domain, Subdomain string // Subdomain is "" if there is none
	Port                   uint16 // that of the scheme if none is given
	Path                   string // at least "/"
	Query, Fragment        string // "" if absent or empty
}

var whatwg = canon.WHATWG()

// ParseParts takes a URL apart. It fails with [ErrURL], [ErrScheme], [ErrHost],
// [ErrHostLength], [ErrLabel] or [ErrCharacter].
func ParseParts(url string) (Parts, error) {
	if u, ok := plain.Parse(url); ok {
		return plainParts(url, u)
	}
	if err := checkAuthority(url); err != nil {
		return Parts{}, err
	}
	canonical, err := canonicalize(url)
	if err != nil {
		return Parts{}, err
	}
	return partsOf(canonical)
}

// plainParts takes apart a URL that is already in its canonical form.
func plainParts(url string, u plain.URL) (p Parts, err error) {
	host := url[u.SchemeLen+3 : u.HostEnd]
	if err := ValidateHost(host); err != nil {
		return Parts{}, err
	}
	p = plainRest(url, u)
	p.TLD, p.Domain, p.Subdomain, err = SplitHost(host)
	return p, err
}

// plainRest is all but the host.
func plainRest(url string, u plain.URL) Parts {
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

// checkAuthority refuses, as the crate does, what the URL Standard would mend: no host
// after the first "://".
func checkAuthority(url string) error {
	_, rest, ok := strings.Cut(url, "://")
	if ok && (rest == "" || rest[0] == '/') {
		return fault.As(ErrHost, "cannot parse URL; got %q; want a host after \"://\"", short(url))
	}
	return nil
}

func canonicalize(url string) (string, error) {
	if _, ok := plain.Parse(url); ok {
		return url, nil
	}
	canonical, err := whatwg.Canonicalize(url)
	if err != nil {
		return "", urlError{err}
	}
	return canonical, nil
}

// urlError is an error of package canon that is also ErrURL.
type urlError struct{ error }

func (e urlError) Unwrap() []error { return []error{e.error, ErrURL} }

// partsOf takes apart what the URL Standard has written.
func partsOf(canonical string) (p Parts, err error) {
	s := split(canonical)
	if !s.hasHost || s.host == "" {
		return Parts{}, fault.As(ErrHost, "cannot encode URL; got %q; want one with a host", short(canonical))
	}
	p.Scheme, p.Path, p.Query, p.Fragment = s.scheme, s.path, s.query, s.fragment
	if p.Port = defaultPort(s.scheme); p.Port == 0 {
		return Parts{}, fault.As(ErrScheme, "cannot encode URL; got scheme %q; want https, http or ftp", s.scheme)
	}
	if s.hasPort {
		p.Port = s.port
	}
	if err := ValidateHost(s.host); err != nil {
		return Parts{}, err
	}
	p.TLD, p.Domain, p.Subdomain, err = SplitHost(s.host)
	return p, err
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

// pieces is a canonical URL cut at its delimiters.
type pieces struct {
	scheme, userinfo, host, path, query, fragment string
	port                                          uint16
	hasHost, hasPort, hasQuery, hasFragment       bool
}

func split(canonical string) (s pieces) {
	rest := canonical
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest, s.fragment, s.hasFragment = rest[:i], rest[i+1:], true
	}
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		rest, s.query, s.hasQuery = rest[:i], rest[i+1:], true
	}
	i := strings.IndexByte(rest, ':')
	s.scheme, s.path = rest[:max(i, 0)], rest[i+1:]
	if len(s.path) < 2 || s.path[:2] != "//" {
		return s
	}
	authority := s.path[2:]
	s.path = ""
	if i := strings.IndexByte(authority, '/'); i >= 0 {
		authority, s.path = authority[:i], authority[i:]
	}
	s.hasHost = true
	s.splitAuthority(authority)
	return s
}

func (s *pieces) splitAuthority(authority string) {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		s.userinfo, authority = authority[:i+1], authority[i+1:]
	}
	s.host = authority
	for i := len(authority) - 1; i >= 0; i-- {
		switch c := authority[i]; {
		case c == ':':
			s.host, s.hasPort = authority[:i], true
			for _, d := range []byte(authority[i+1:]) {
				s.port = s.port*10 + uint16(d-'0')
			}
			return
		case c < '0' || c > '9':
			return
		}
	}
}

// join is the inverse of split.
func (s *pieces) join() string {
	var b strings.Builder
	b.WriteString(s.scheme + ":")
	if s.hasHost {
		b.WriteString("//" + s.userinfo + s.host)
		if s.hasPort {
			fmt.Fprintf(&b, ":%d", s.port)
		}
	}
	b.WriteString(s.path)
	if s.hasQuery {
		b.WriteString("?" + s.query)
	}
	if s.hasFragment {
		b.WriteString("#" + s.fragment)
	}
	return b.String()
}

// short is as much of a URL as an error should quote.
func short(url string) string {
	const most = 200
	return url[:min(len(url), most)]
}
