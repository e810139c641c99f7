package sxurl

import (
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// WithoutFragment returns the URL without its fragment.
func (u *URL) WithoutFragment() string {
	p := u.pieces
	p.fragment, p.hasFragment = "", false
	return u.joinShorter(p)
}

// joinShorter joins the remaining parts. A path without structure that is now
// last loses the spaces at its end, as in the URL Standard ("strip trailing
// spaces from an opaque path"): a parser would not see them.
func (u *URL) joinShorter(p pieces) string {
	if u.opaque() && !p.hasQuery && !p.hasFragment {
		p.path = strings.TrimRight(p.path, " ")
	}
	return p.join()
}

// Without returns the URL without a component: a path becomes "/", a host loses its subdomain, a
// path its file name. The error is [ErrComponent] for Scheme, Host, Domain and TLD, for the port of
// a URL that can have none, and for the path of a URL like "mailto:x"; with Crate, removing that
// path returns "mailto:%2F". For a subdomain the error is that of [URL.SplitHost].
func (u *URL) Without(c Component) (string, error) {
	p := u.pieces
	switch c {
	case Fragment:
		return u.WithoutFragment(), nil
	case Query:
		p.query, p.hasQuery = "", false
	case Port:
		if p.host == "" || p.scheme == "file" {
			return "", u.cannotLose(c)
		}
		p.port, p.hasPort = 0, false
	case Path, PathSegments:
		if u.opaque() && !u.crate {
			return "", u.cannotLose(c)
		}
		p.path = "/"
		if u.opaque() {
			p.path = "%2F"
		}
	case Filename:
		p.path = u.folder()
	case Subdomain:
		return u.withoutSubdomain()
	default:
		return "", u.cannotLose(c)
	}
	return u.joinShorter(p), nil
}

func (u *URL) cannotLose(c Component) error {
	return fault.As(ErrComponent, "cannot remove component; got %s of %q; want one that the URL can do without", c, short(u.canonical))
}

// opaque reports whether the URL has a path without structure.
func (u *URL) opaque() bool {
	return !u.pieces.hasHost && !strings.HasPrefix(u.pieces.path, "/")
}

// folder is the path up to the file name. The crate also loses its empty segments.
func (u *URL) folder() string {
	name, ok := u.Filename()
	if !ok {
		return u.pieces.path
	}
	if !u.crate {
		return strings.TrimSuffix(u.pieces.path, name)
	}
	segments := u.Segments()
	if len(segments) == 1 {
		return "/"
	}
	return "/" + strings.Join(segments[:len(segments)-1], "/") + "/"
}

func (u *URL) withoutSubdomain() (string, error) {
	tld, domain, subdomain, err := u.SplitHost()
	if err != nil {
		return "", err
	}
	if subdomain == "" {
		return u.canonical, nil
	}
	p := u.pieces
	p.host = domain + "." + tld
	return canonicalize(p.join()) // what remains of an IP address, as the crate splits it, is another one
}

// Join resolves a reference against the URL as if the last segment of its path were a folder:
// "users" joined to "https://h/v1" is "https://h/v1/users". Else it follows the URL
// Standard: "/x" replaces the path, "//h/x" the host, a whole URL everything. It fails
// with [ErrURL], and with [ErrJoin] when the URL has no path to join to.
func (u *URL) Join(ref string) (string, error) {
	ref = strings.Trim(ref, whitespace)
	if hasScheme(ref) {
		return canonicalize(ref)
	}
	base := u.pieces
	if !strings.HasSuffix(base.path, "/") && (u.crate || !u.opaque()) {
		base.path += "/"
	}
	if u.opaque() && base.path == "/" {
		base.path = "%2F" // what the crate's parser makes of it
	}
	base.fragment, base.hasFragment = "", false
	if u.opaque() && !strings.HasPrefix(ref, "#") {
		return "", fault.As(ErrJoin, "cannot join URL; got base %q; want one with a path", short(u.canonical))
	}
	return canonicalize(base.resolve(ref))
}

// whitespace is what the URL Standard trims: space and control characters.
const whitespace = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f "

// resolve appends a reference without scheme to the parts that it keeps of a base whose path
// ends in "/". The parser removes dot segments later.
func (s *pieces) resolve(ref string) string {
	special := defaultPort(s.scheme) != 0 || s.scheme == "ws" || s.scheme == "wss" || s.scheme == "file"
	if special {
		head := ref[:strings.IndexAny(ref+"?", "?#")]
		ref = strings.ReplaceAll(head, `\`, "/") + ref[len(head):]
	}
	switch {
	case ref == "":
	case ref[0] == '#':
		return s.join() + ref
	case ref[0] == '?':
		s.query, s.hasQuery = "", false
		return s.join() + ref
	case strings.HasPrefix(ref, "//"):
		return s.scheme + ":" + ref
	case ref[0] == '/':
		s.path, s.query, s.hasQuery = s.drive()+ref, "", false
		return s.join()
	default:
		s.path, s.query, s.hasQuery = s.path+ref, "", false
	}
	return s.join()
}

// drive is the drive letter that a file's path keeps: "/C:".
func (s *pieces) drive() string {
	if p := s.path; s.scheme == "file" && len(p) >= 3 && p[2] == ':' && p[1]|0x20 >= 'a' && p[1]|0x20 <= 'z' && (len(p) == 3 || p[3] == '/') {
		return p[:3]
	}
	return ""
}

func hasScheme(ref string) bool {
	for i := range len(ref) {
		switch c := ref[i]; {
		case c == ':':
			return i > 0
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}
