package canon

import (
	"fmt"
	"strings"
)

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
		return fmt.Errorf("cannot canonicalize; got %s without a host; want one beside a user or a port: %w", quote(s), ErrURL)
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
			return "", fmt.Errorf("cannot canonicalize; got host %s with %q; want none of the forbidden ones: %w", quote(host), c, ErrURL)
		}
	}
	return escapeIllegal(host, opaqueRaw), nil
}

// opaquePath escapes controls and what is not ASCII, and a blank that would otherwise be
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
