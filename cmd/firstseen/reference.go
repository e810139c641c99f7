package main

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
)

// reference resolves relative references as the URL Standard does, up to the dot segments,
// which canonicalizing removes.
type reference struct {
	scheme string // with its colon
	origin string // scheme and authority
	path   string // begins with "/"
	query  string // begins with "?", or is empty
}

// newReference reads a base URL.
func newReference(base string) (*reference, error) {
	form, err := canon.WHATWG().Canonicalize(base)
	if err == nil && canon.Host([]byte(form)) == nil {
		err = fault.As(canon.ErrScheme, "it has no host")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use --base %s: %w", shown(base), err)
	}
	form, _, _ = strings.Cut(form, "#")
	scheme, rest, _ := strings.Cut(form, "//")
	authority, path := rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	r := &reference{scheme: scheme, origin: scheme + "//" + authority, path: path}
	if i := strings.IndexByte(path, '?'); i >= 0 {
		r.path, r.query = path[:i], path[i:]
	}
	return r, nil
}

// resolve makes a reference absolute. One that has a scheme stays as it is.
func (r *reference) resolve(raw string) string {
	ref := strings.Map(dropped, strings.TrimFunc(raw, func(c rune) bool { return c <= ' ' }))
	if scheme, rest, ok := cutScheme(ref); ok {
		twoSlashes := len(rest) >= 2 && strings.Trim(rest[:2], `/\`) == ""
		if !strings.EqualFold(scheme, r.scheme) || twoSlashes {
			return raw
		}
		ref = rest // "http:page" is relative to a base of the same scheme
	}
	path, _ := cutAny(ref, "?#")
	slashes := strings.ReplaceAll(path, `\`, "/")
	ref = slashes + ref[len(path):]
	switch {
	case strings.HasPrefix(slashes, "//"):
		return r.scheme + ref
	case strings.HasPrefix(slashes, "/"):
		return r.origin + ref
	case slashes != "":
		return r.origin + r.path[:strings.LastIndexByte(r.path, '/')+1] + ref
	case strings.HasPrefix(ref, "?"):
		return r.origin + r.path + ref
	}
	return r.origin + r.path + r.query + ref
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
