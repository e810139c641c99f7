// Package whatwg cuts and writes URLs as the URL Standard does (https://url.spec.whatwg.org, July 2026): parts,
// escapes, hosts, and the canonical form of a URL of any scheme. It works on text, and leaves what needs no change
// byte for byte. canon applies its rules between cutting and joining.
package whatwg

import (
	"errors"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// What package canon exports.
var (
	ErrURL     = errors.New("not a valid URL")
	ErrScheme  = errors.New("scheme not handled")
	ErrTooLong = errors.New("URL too long")
)

// Parse parses a URL of any scheme. Joined, the parts are its serialization, which a parser of the standard does
// not change.
func Parse(raw string) (Parts, error) {
	s := DropNewlines(TrimSpace(raw))
	n := SchemeLen(s)
	if n < 0 {
		return Parts{}, NoScheme(s)
	}
	scheme := strings.ToLower(s[:n])
	if DefaultPort(scheme) == "" {
		return parseOther(scheme, s[n+1:])
	}
	p := CutSpecial(s, n)
	p.Scheme, p.Slashes = scheme, "://"
	var err error
	if p.Host, err = canonicalHost(p.Host); err != nil {
		return Parts{}, err
	}
	if p.Port, err = CanonicalPort(scheme, p.Port); err != nil {
		return Parts{}, err
	}
	p.plainUserinfo()
	p.Path = plainPath("/" + strings.TrimPrefix(strings.ReplaceAll(p.Path, `\`, "/"), "/"))
	p.plainRest(queryRaw)
	return p, nil
}

// plainPath escapes a path that begins with a slash as the URL Standard does, and no more,
// and resolves its dot segments, whose dots may be escaped.
func plainPath(path string) string {
	segments := strings.Split(Escape(path, pathRaw), "/")
	for i, segment := range segments {
		if dots := unescapeDots(segment); dots == "." || dots == ".." {
			segments[i] = dots
		}
	}
	return WithoutDots(strings.Join(segments, "/"))
}

// unescapeDots returns a segment with its dots decoded, if it is short enough to be one of two dots.
func unescapeDots(segment string) string {
	if len(segment) > len("%2e%2e") {
		return segment
	}
	return strings.ReplaceAll(LowerText(segment), "%2e", ".")
}

// plainRest escapes query and fragment as the URL Standard does, and no more.
func (p *Parts) plainRest(raw *Set) {
	p.Query, p.Fragment = Escape(p.Query, raw), Escape(p.Fragment, fragmentRaw) // both sets have the separator
}

// plainUserinfo escapes user and password as the URL Standard does, and no more.
func (p *Parts) plainUserinfo() {
	p.EachOfUserinfo(func(s string) string { return Escape(s, userinfoRaw) })
}

// EachOfUserinfo replaces user and password by what f makes of them; empty ones go. It cuts at the first colon: further ones belong
// to the password.
func (p *Parts) EachOfUserinfo(f func(string) string) {
	user, pass, _ := strings.Cut(strings.TrimSuffix(p.Userinfo, "@"), ":")
	p.Userinfo = f(user)
	if pass = f(pass); pass != "" {
		p.Userinfo += ":" + pass
	}
	if p.Userinfo != "" {
		p.Userinfo += "@"
	}
}

// parseOther parses a URL whose scheme is not one of those with a default
// port. rest is what follows the colon.
func parseOther(scheme, rest string) (Parts, error) {
	p := &Parts{Scheme: scheme, Slashes: ":"}
	rest, p.Fragment = CutBefore(rest, "#")
	rest, p.Query = CutBefore(rest, "?")
	var err error
	switch {
	case scheme == "file":
		err = p.filePath(rest)
		p.plainRest(queryRaw)
		return *p, err
	case strings.HasPrefix(rest, "//"):
		err = p.otherAuthority(rest[2:])
	case strings.HasPrefix(rest, "/"):
		if p.Path = plainPath(rest); strings.HasPrefix(p.Path, "//") {
			p.Slashes = ":/." // or the path would read as an authority
		}
	default:
		p.opaquePath(rest)
	}
	p.plainRest(otherQueryRaw)
	return *p, err
}

// otherAuthority reads what follows "//": userinfo, host and port, then a path or nothing.
func (p *Parts) otherAuthority(s string) (err error) {
	p.Slashes = "://"
	s, p.Path = CutBefore(s, "/")
	if p.Path != "" {
		p.Path = plainPath(p.Path)
	}
	at := strings.LastIndexByte(s, '@')
	p.Userinfo, p.Host = s[:at+1], s[at+1:]
	p.Host, p.Port = CutPort(p.Host)
	p.plainUserinfo()
	if p.Port, err = CanonicalPort(p.Scheme, p.Port); err != nil {
		return err
	}
	if p.Host == "" && (at >= 0 || p.Port != "" || strings.HasSuffix(s, ":")) {
		return fault.As(ErrURL, "cannot canonicalize; got %s without a host; want one beside a user or a port", Quote(s))
	}
	p.Host, err = opaqueHost(p.Host)
	return err
}

// opaqueHost is the opaque-host parser (URL Standard 3.5), and the way to IPv6 addresses.
func opaqueHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		return CanonicalIPv6(host)
	}
	for i := range len(host) {
		if c := host[i]; forbiddenHost[c] {
			return "", forbiddenIn(host, c)
		}
	}
	return Escape(host, opaqueRaw), nil
}

// opaquePath escapes controls and non-ASCII bytes, and a blank that would otherwise be
// the last character before query or fragment.
func (p *Parts) opaquePath(path string) {
	if body, ok := strings.CutSuffix(path, " "); ok && p.Query+p.Fragment != "" {
		p.Path = Escape(body, opaqueRaw) + "%20"
		return
	}
	p.Path = Escape(path, opaqueRaw)
}

// filePath reads what follows "file:", which has a host only after two slashes. Windows
// drive letters are no host, and ".." does not leave a drive.
func (p *Parts) filePath(s string) error {
	p.Slashes = "://"
	s = strings.ReplaceAll(s, `\`, "/")
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		host, path := CutBefore(rest, "/")
		if isDriveLetter(host) {
			host, path = "", "/"+rest
		}
		if err := p.fileHost(host); err != nil {
			return err
		}
		s = path
	}
	p.Path = "/" + strings.Join(fileSegments(strings.TrimPrefix(s, "/")), "/")
	return nil
}

func fileSegments(path string) (kept []string) {
	segments := strings.Split(Escape(path, pathRaw), "/")
	for i, segment := range segments {
		switch unescapeDots(segment) {
		case "..":
			if len(kept) > 1 || len(kept) == 1 && !isDriveLetter(kept[0]) {
				kept = kept[:len(kept)-1]
			}
		case ".":
		default:
			if len(kept) == 0 && isDriveLetter(segment) {
				segment = segment[:1] + ":"
			}
			kept = append(kept, segment)
			continue
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return kept
}

func (p *Parts) fileHost(host string) (err error) {
	if host == "" {
		return nil
	}
	if p.Host, err = canonicalHost(host); p.Host == "localhost" {
		p.Host = ""
	}
	return err
}

func isDriveLetter(s string) bool {
	return len(s) == 2 && (s[1] == ':' || s[1] == '|') && 'a' <= Lower(s[0]) && Lower(s[0]) <= 'z'
}
