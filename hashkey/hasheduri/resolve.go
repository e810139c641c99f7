package hasheduri

import (
	"strings"
	"unsafe"

	"github.com/firstseen/firstseen/internal/dotsegments"
	"github.com/firstseen/firstseen/internal/fault"
)

// reference is a URI cut at its delimiters (RFC 3986, Appendix B); the strings have theirs.
type reference struct{ scheme, authority, path, query, fragment string }

func cut(s string) (r reference) {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s, r.fragment = s[:i], s[i:]
	}
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, r.query = s[:i], s[i:]
	}
	if i := strings.IndexAny(s, ":/"); i > 0 && s[i] == ':' {
		r.scheme, s = s[:i+1], s[i+1:]
	}
	if strings.HasPrefix(s, "//") {
		i := strings.IndexByte(s[2:], '/') + 2
		if i < 2 {
			i = len(s)
		}
		r.authority, s = s[:i], s[i:]
	}
	r.path = s
	return r
}

// resolve makes a relative reference absolute (RFC 3986, section 5.2.2). Dot segments go
// here only: the draft leaves those of absolute URIs.
func resolve(base, ref string) (string, error) {
	b, r := cut(base), cut(ref)
	if b.scheme == "" {
		return "", fault.As(ErrRelative, "cannot resolve reference; got base %q; want an absolute URI", base)
	}
	if b.authority == "" && b.path != "" && b.path[0] != '/' && r.path+r.query+r.authority != "" {
		return "", fault.As(ErrRelative, "cannot resolve reference %q; got base %q; want one with a path", ref, base)
	}
	r.scheme = b.scheme
	if r.authority != "" {
		r.path = removeDots(r.path)
		return r.join(), nil
	}
	r.authority = b.authority
	switch {
	case r.path == "":
		r.path = b.path
		if r.query == "" {
			r.query = b.query
		}
	case r.path[0] == '/':
		r.path = removeDots(r.path)
	case b.path == "":
		r.path = removeDots("/" + r.path)
	default:
		r.path = removeDots(b.path[:strings.LastIndexByte(b.path, '/')+1] + r.path)
	}
	return r.join(), nil
}

func (r reference) join() string {
	return r.scheme + r.authority + r.path + r.query + r.fragment
}

// removeDots is RFC 3986, section 5.2.4, for a path that begins with a slash or is empty.
func removeDots(path string) string { return string(dotsegments.Remove([]byte(path))) }

// bytesOf views a string as bytes without a copy. What gets them only reads.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
