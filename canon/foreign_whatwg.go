package canon

import (
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// WHATWG is the serialization of the URL Standard as of July 2026, of any scheme, with the
// fragment. It is the canonical form of the url-hash crate, except for two changes of the
// standard since the crate's release: "^" is escaped in a path, and an ASCII host is accepted
// whatever its xn-- labels encode.
//
// Laws: idempotent, and by definition a WHATWG fixpoint. Query order, escapes and
// duplicate slashes stay as they are found, so it merges far less than [Qiita] does.
func WHATWG() *Profile {
	return &Profile{name: "whatwg", version: 2, engine: appendEngine{rule: "whatwg", append: appendWHATWG}}
}

func appendWHATWG(dst, raw []byte) ([]byte, error) {
	if len(raw) > DefaultMaxLength {
		return dst, fault.As(ErrTooLong, "cannot canonicalize; got a URL of %d bytes; want at most %d", len(raw), DefaultMaxLength)
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

// otherForm is the serialization of a URL whose scheme is not one of those with a default
// port. rest is what follows the colon.
func otherForm(scheme, rest string) (string, error) {
	w := &work{parts: parts{scheme: scheme, slashes: ":"}}
	rest, w.fragment = cutBefore(rest, "#")
	rest, w.query = cutBefore(rest, "?")
	var err error
	switch {
	case scheme == "file":
		err = w.filePath(rest)
		w.plainRest(whatwgQueryRaw)
		return w.join(), err
	case strings.HasPrefix(rest, "//"):
		err = w.otherAuthority(rest[2:])
	case strings.HasPrefix(rest, "/"):
		if w.path = plainPath(rest); strings.HasPrefix(w.path, "//") {
			w.slashes = ":/." // or the path would read as an authority
		}
	default:
		w.opaquePath(rest)
	}
	w.plainRest(otherQueryRaw)
	return w.join(), err
}

// otherAuthority reads what follows "//": userinfo, host and port, then a path or nothing.
func (w *work) otherAuthority(s string) (err error) {
	w.slashes = "://"
	s, w.path = cutBefore(s, "/")
	if w.path != "" {
		w.path = plainPath(w.path)
	}
	at := strings.LastIndexByte(s, '@')
	w.userinfo, w.host = s[:at+1], s[at+1:]
	w.host, w.port = cutPort(w.host)
	w.plainUserinfo()
	number, ok := portNumber(w.port)
	if !ok {
		return errPort(w.port)
	}
	if w.port = ""; number != "" {
		w.port = ":" + number
	}
	if w.host == "" && (at >= 0 || number != "" || strings.HasSuffix(s, ":")) {
		return fault.As(ErrURL, "cannot canonicalize; got %s without a host; want one beside a user or a port", quote(s))
	}
	w.host, err = opaqueHost(w.host)
	return err
}

// opaqueHost is the opaque-host parser (URL Standard 3.5), and the way to IPv6 addresses.
func opaqueHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		return canonicalIPv6(host)
	}
	for i := range len(host) {
		if c := host[i]; forbiddenHost[c] {
			return "", forbiddenIn(host, c)
		}
	}
	return escapeIllegal(host, opaqueRaw), nil
}

// opaquePath escapes controls and non-ASCII bytes, and a blank that would otherwise be
// the last character before query or fragment.
func (w *work) opaquePath(path string) {
	if body, ok := strings.CutSuffix(path, " "); ok && w.query+w.fragment != "" {
		w.path = escapeIllegal(body, opaqueRaw) + "%20"
		return
	}
	w.path = escapeIllegal(path, opaqueRaw)
}

// filePath reads what follows "file:", which has a host only after two slashes. Windows
// drive letters are no host, and ".." does not leave a drive.
func (w *work) filePath(s string) error {
	w.slashes = "://"
	s = strings.ReplaceAll(s, `\`, "/")
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		host, path := cutBefore(rest, "/")
		if isDriveLetter(host) {
			host, path = "", "/"+rest
		}
		if err := w.fileHost(host); err != nil {
			return err
		}
		s = path
	}
	w.path = "/" + strings.Join(fileSegments(strings.TrimPrefix(s, "/")), "/")
	return nil
}

func fileSegments(path string) (kept []string) {
	segments := strings.Split(escapeIllegal(path, whatwgPathRaw), "/")
	for i, segment := range segments {
		switch strings.ReplaceAll(lowerText(segment), "%2e", ".") {
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

func (w *work) fileHost(host string) error {
	if host == "" {
		return nil
	}
	w.host, w.literal = host, strings.HasPrefix(host, "[")
	for _, id := range []ruleID{rDecodeHost, rLowercaseHost, rHostToASCII, rCanonicalIP} {
		if err := rules[id].do(w); err != nil {
			return err
		}
	}
	if w.host == "localhost" {
		w.host = ""
	}
	return nil
}

func isDriveLetter(s string) bool {
	return len(s) == 2 && (s[1] == ':' || s[1] == '|') && 'a' <= lower(s[0]) && lower(s[0]) <= 'z'
}
