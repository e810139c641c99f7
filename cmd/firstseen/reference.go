package main

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
)

// reference resolves relative references as the URL Standard does, up to the dot segments,
// which canonicalizing removes. It works on texts: what a reference says goes through the profile as it
// was found, and so profiles that are no URL parsers can be used, too.
type reference struct {
	scheme  string // with its colon
	special bool   // http, https, ws, wss, ftp or file: "\" is a slash
	origin  string // scheme and authority; the scheme alone if there is none
	path    string // "" or begins with "/"; anything if the base is opaque
	query   string // begins with "?", or is empty
	opaque  bool   // such as mailto:, to which only a fragment is relative
}

// newReference reads a base URL of any scheme. To one that is not hierarchical, only fragments are
// relative, so it is refused.
func newReference(base string) (*reference, error) {
	r, err := parseBase(base)
	if err == nil && r.opaque {
		err = fault.As(canon.ErrScheme, "nothing is relative to it; want a URL with a path that begins with \"/\"")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use --base %s: %w", shown(base), err)
	}
	return r, nil
}

func parseBase(base string) (*reference, error) {
	form, err := canon.WHATWG().Canonicalize(base)
	if err != nil {
		return nil, err
	}
	form, _, _ = strings.Cut(form, "#")
	scheme, rest, _ := cutScheme(form)
	r := &reference{scheme: scheme, origin: scheme}
	switch scheme {
	case "http:", "https:", "ws:", "wss:", "ftp:", "file:":
		r.special = true
	}
	if strings.HasPrefix(rest, "//") {
		authority, _ := cutAny(rest[2:], "/?")
		r.origin += "//" + authority
		rest = rest[2+len(authority):]
	} else {
		r.opaque = !strings.HasPrefix(rest, "/")
	}
	r.path, r.query = cutAny(rest, "?")
	return r, nil
}

// resolve makes a reference absolute. One that has a scheme stays as it is, and so does one that
// can't be relative to an opaque base.
func (r *reference) resolve(raw string) string {
	ref := strings.Map(dropped, strings.TrimFunc(raw, func(c rune) bool { return c <= ' ' }))
	if scheme, rest, ok := cutScheme(ref); ok {
		twoSlashes := len(rest) >= 2 && strings.Trim(rest[:2], `/\`) == ""
		if !r.special || !strings.EqualFold(scheme, r.scheme) || twoSlashes {
			return raw
		}
		ref = rest // "http:page" is relative to a base of the same scheme
	}
	path, _ := cutAny(ref, "?#")
	rest := ref[len(path):]
	if r.special {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	switch {
	case r.opaque && !strings.HasPrefix(ref, "#"):
		return raw
	case strings.HasPrefix(path, "//"):
		return r.scheme + path + rest
	case strings.HasPrefix(path, "/"):
		return r.origin + r.drive(path[1:]) + path + rest
	case path != "":
		return r.origin + r.directory(path) + path + rest
	case strings.HasPrefix(rest, "?"):
		return r.origin + r.path + rest
	}
	return r.origin + r.path + r.query + rest
}

// directory returns what stands before a path that is relative to the base: the path of the base to its
// last slash. A path that begins with the letter of a drive is relative to none; and a drive alone is a directory.
func (r *reference) directory(path string) string {
	if r.scheme == "file:" && startsWithDrive(path) {
		return "/"
	}
	if drive := r.drive(path); drive != "" && drive == r.path {
		return drive + "/"
	}
	if r.path == "" {
		return "/"
	}
	return r.path[:strings.LastIndexByte(r.path, '/')+1]
}

// drive returns the drive of a file base with its slash, "/C:", unless a path brings its own. "" stands for
// none.
func (r *reference) drive(path string) string {
	if r.scheme != "file:" || startsWithDrive(path) || r.path == "" || !startsWithDrive(r.path[1:]) {
		return ""
	}
	return r.path[:len("/C:")]
}

// startsWithDrive reports whether a path begins with a Windows drive letter: "C:" or "C|", then the end or a
// separator.
func startsWithDrive(path string) bool {
	return len(path) >= 2 && 'a' <= path[0]|0x20 && path[0]|0x20 <= 'z' && (path[1] == ':' || path[1] == '|') &&
		(len(path) == 2 || strings.IndexByte(`/\?#`, path[2]) >= 0)
}

// dropped removes the characters that the URL Standard removes from everywhere in a URL.
func dropped(c rune) rune {
	if c == '\t' || c == '\n' || c == '\r' {
		return -1
	}
	return c
}

// cutScheme cuts a scheme with its colon off.
func cutScheme(ref string) (scheme, rest string, ok bool) {
	for i, c := range []byte(ref) {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case c == ':' && i > 0:
			return ref[:i+1], ref[i+1:], true
		default:
			return "", ref, false
		}
	}
	return "", ref, false
}

// cutAny cuts s before the first of some characters.
func cutAny(s, chars string) (before, rest string) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
