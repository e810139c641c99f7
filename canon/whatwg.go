package canon

import (
	"fmt"
	"strings"
)

// WHATWG is the serialization of the URL Standard as of July 2026, of any scheme, with the
// fragment: the canonical form of the url-hash crate, but for what the standard has changed
// since the crate's release ("^" is escaped in a path).
//
// Laws: idempotent, and by definition a WHATWG fixpoint. Query order, escapes and
// duplicate slashes stay as they are found, so it merges far less than [Qiita] does.
func WHATWG() *Profile {
	return &Profile{name: "whatwg", version: 2, engine: appendEngine{rule: "whatwg", append: appendWHATWG}}
}

func appendWHATWG(dst, raw []byte) ([]byte, error) {
	if len(raw) > DefaultMaxLength {
		return dst, fmt.Errorf("cannot canonicalize; got a URL of %d bytes; want at most %d: %w", len(raw), DefaultMaxLength, ErrTooLong)
	}
	out, err := whatwgForm(dropNewlines(trimSpace(string(raw))))
	return append(dst, out...), err
}

// whatwgForm parses a cleaned URL and serializes it again.
func whatwgForm(s string) (string, error) {
	n := schemeLen(s)
	if n < 0 {
		return "", errNoScheme(s)
	}
	scheme := strings.ToLower(s[:n])
	if specialPort(scheme) == "" {
		return otherForm(scheme, s[n+1:])
	}
	w := &work{parts: splitSpecial(s, n)}
	for _, id := range []ruleID{rLowercaseScheme, rFixSlashes, rDecodeHost, rLowercaseHost, rHostToASCII, rCanonicalIP, rDefaultPort} {
		if err := rules[id].do(w); err != nil {
			return "", err
		}
	}
	w.plainUserinfo()
	w.path = plainPath("/" + strings.TrimPrefix(w.path, "/"))
	w.plainRest(whatwgQueryRaw)
	return w.join(), nil
}

// plainPath escapes a path that begins with a slash as the URL Standard does, and no more,
// and resolves its dot segments, whose dots may be escaped.
func plainPath(path string) string {
	segments := strings.Split(escapeIllegal(path, whatwgPathRaw), "/")
	for i, segment := range segments {
		if len(segment) <= len("%2e%2e") {
			if dots := strings.ReplaceAll(lowerText(segment), "%2e", "."); dots == "." || dots == ".." {
				segments[i] = dots
			}
		}
	}
	return withoutDots(strings.Join(segments, "/"))
}

// plainRest escapes query and fragment as the URL Standard does, and no more.
func (w *work) plainRest(queryRaw *byteSet) {
	if w.query != "" {
		w.query = "?" + escapeIllegal(w.query[1:], queryRaw)
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
