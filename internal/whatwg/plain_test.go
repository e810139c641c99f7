package whatwg

import (
	"strings"
	"testing"
)

// checkPlain checks that a plain URL does not change, and is cut in the right places.
func checkPlain(t *testing.T, s string) bool {
	t.Helper()
	u, ok := ParsePlain(s)
	if !ok {
		return false
	}
	p, err := Parse(s)
	if err != nil || p.Join() != s || p.Userinfo != "" {
		t.Errorf("%q is called plain; Parse makes %q, %v of it", s, p.Join(), err)
	}
	if got := p.Host + p.Port; got != s[u.SchemeLen+3:u.Path] {
		t.Errorf("%q: got host %q; want %q", s, s[u.SchemeLen+3:u.Path], got)
	}
	path, fragment, hasFragment := strings.Cut(s[u.Path:], "#")
	path, query, hasQuery := strings.Cut(path, "?")
	if s[u.Path:u.PathEnd] != path || (u.Query > 0) != hasQuery || hasQuery && s[u.Query:u.QueryEnd] != query ||
		(u.Fragment > 0) != hasFragment || hasFragment && s[u.Fragment:] != fragment || !hasQuery && u.QueryEnd != u.PathEnd {
		t.Errorf("%q: got %+v; want path %q, query %q, fragment %q", s, u, path, query, fragment)
	}
	return true
}

func TestPlain(t *testing.T) {
	for _, s := range []string{
		"http://h.com/", "https://a.b-c.d_e/", "ftp://h.com/x", "http://h.com:8080/", "https://h.com:80/",
		"http://h.com/a/.b/..c/...", "http://h.com/%2f/%2ea/.%2/%2e%2e%2e", "http://h.com/a|b[c]:@!$&'()*+,;=~",
		"http://h.com/?", "http://h.com/#", "http://h.com/?#", "http://h.com/a?b/../c?d^`{|}\\#e#f?g'{}^\\", "http://1.2.3.com/",
	} {
		if !checkPlain(t, s) {
			t.Errorf("%q: got not plain; want plain", s)
		}
	}
}

func TestNotPlain(t *testing.T) {
	for _, s := range []string{
		"", "http", "http:", "http://", "http:///", "http://h", "http://h?", "http://h#", "HTTP://h/", "http:/h/", "ws://h/", "file://h/",
		"http://H/", "http://h../", "http://.h/", "http://h./", "http://xn--a/", "http://a.xn--b.c/", "http://1.2.3.4/", "http://a.0x1/", "http://u@h/",
		"http://u:p@h/", "http://[::1]/", "http://h%41/", "http://é/", "http://h:/", "http://h:80/", "https://h:443/", "ftp://h:21/", "http://h:0/", "http://h:081/",
		"http://h:65536/", "http://h:99999999999999999999/", "http://h:8o/", "http://h:8",
		"http://h/.", "http://h/./", "http://h/..", "http://h/a/../b", "http://h/%2e", "http://h/.%2E/", "http://h/%2e%2e?", "http://h/..#",
		"http://h/ ", "http://h/\t", "http://h/\"", "http://h/<", "http://h/^", "http://h/`", "http://h/{", "http://h/\\", "http://h/é", "http://h/\x7f",
		"http://h/?'", "http://h/? ", "http://h/?\"", "http://h/?é", "http://h/#`", "http://h/# ", "http://h/#\x00",
	} {
		if u, ok := ParsePlain(s); ok {
			t.Errorf("%q: got plain, %+v; want not", s, u)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"http://h.com:8080/a/.b?c#d", "https://www.example.com/%2e.a/?q='", "ftp://a_b.c/", "http://h/a//b/%2E%2e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkPlain(t, s) })
}
