package canon

import (
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// WHATWG is the serialization of the URL Standard, of any scheme, with the fragment:
// the canonical form of the url-hash crate.
//
// Laws: idempotent, and by definition a WHATWG fixpoint. Query order, escapes and
// duplicate slashes stay as they are found, so it merges far less than [Qiita] does.
func WHATWG() *Profile {
	return &Profile{name: "whatwg", version: 1, engine: appendEngine{rule: "whatwg", append: appendWHATWG}}
}

// appendWHATWG writes http, https and ftp itself, and leaves other schemes to the
// library, which for these three refuses too many hosts and takes quadratic time.
func appendWHATWG(dst, raw []byte) ([]byte, error) {
	if len(raw) > DefaultMaxLength {
		return dst, fmt.Errorf("cannot canonicalize; got a URL of %d bytes; want at most %d: %w", len(raw), DefaultMaxLength, ErrTooLong)
	}
	s := dropNewlines(trimSpace(string(raw)))
	if n := schemeLen(s); n < 0 || defaultPort(strings.ToLower(s[:n])) == "" {
		out, err := parseOther(s)
		return append(dst, out...), err
	}
	p, err := split(s)
	if err != nil {
		return dst, err
	}
	w := &work{parts: p}
	for _, id := range []ruleID{rLowercaseScheme, rFixSlashes, rDecodeHost, rLowercaseHost, rHostToASCII, rCanonicalIP, rDefaultPort} {
		if err := rules[id].do(w); err != nil {
			return dst, err
		}
	}
	w.plainUserinfo()
	w.plainRest()
	return append(dst, w.join()...), nil
}

// plainRest escapes path, query and fragment as the URL Standard does, and no more;
// a dot of a dot segment may be escaped.
func (w *work) plainRest() {
	w.path = "/" + escapeIllegal(strings.TrimPrefix(w.path, "/"), whatwgPathRaw)
	segments := strings.Split(w.path, "/")
	for i, segment := range segments {
		if len(segment) <= len("%2e%2e") {
			if dots := strings.ReplaceAll(lowerText(segment), "%2e", "."); dots == "." || dots == ".." {
				segments[i] = dots
			}
		}
	}
	w.path = strings.Join(segments, "/")
	_ = w.dotSegments()
	if w.query != "" {
		w.query = "?" + escapeIllegal(w.query[1:], whatwgQueryRaw)
	}
	if w.fragment != "" {
		w.fragment = "#" + escapeIllegal(w.fragment[1:], whatwgFragmentRaw)
	}
}

// plainUserinfo escapes user and password as the URL Standard does, and no more.
func (w *work) plainUserinfo() {
	info, _ := strings.CutSuffix(w.userinfo, "@")
	user, pass, _ := strings.Cut(info, ":")
	user, pass = escapeIllegal(user, whatwgUserinfoRaw), escapeIllegal(pass, whatwgUserinfoRaw)
	w.userinfo = user
	if pass != "" {
		w.userinfo += ":" + pass
	}
	if w.userinfo != "" {
		w.userinfo += "@"
	}
}

// The library takes quadratic time for what follows, in bytes: the authority, and the
// path by its number of slashes. These bounds keep it below a tenth of a second.
const (
	maxAuthority = 1 << 10
	maxSlashWork = 1 << 27 // slashes times bytes
)

// parseOther has the library read a whole URL of any scheme.
func parseOther(s string) (string, error) {
	s = escapeInvalid(s)
	scheme, rest, _ := strings.Cut(s, ":")
	switch lowerText(scheme) {
	case "ws", "wss", "file": // any slashes, even none, begin an authority
		rest = "//" + strings.TrimLeft(rest, `/\`)
	}
	if n := authorityLen(rest); n > maxAuthority {
		return "", fmt.Errorf("cannot parse URL; got an authority of %d bytes; want at most %d: %w", n, maxAuthority, ErrTooLong)
	}
	if n := strings.Count(rest, "/") + strings.Count(rest, `\`); rest != "" && rest[0] == '/' && n*len(s) > maxSlashWork {
		return "", fmt.Errorf("cannot parse URL; got %d slashes in %d bytes; want fewer: %w", n, len(s), ErrTooLong)
	}
	u, err := whatwg.Parse(s)
	if err != nil {
		return "", fmt.Errorf("cannot parse URL; got %s; want what the URL Standard allows (%v): %w", quote(s), err, ErrURL)
	}
	return u.Href(false), nil
}

// authorityLen measures the authority of what follows a scheme. An opaque path, such as
// those of data: and mailto:, has none.
func authorityLen(rest string) int {
	rest, ok := strings.CutPrefix(rest, "//")
	if i := strings.IndexAny(rest, `/?#`); ok && i >= 0 {
		return i
	}
	if !ok {
		return 0
	}
	return len(rest)
}
