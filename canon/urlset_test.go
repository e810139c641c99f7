package canon

import (
	"strings"
	"testing"
)

// TestURLSet asserts which URLs rules name.
func TestURLSet(t *testing.T) {
	for _, c := range []struct {
		rules   string // with spaces between them
		in, out string
	}{
		{"example.org", "http://example.org/ https://example.org:8080/a?b HTTP://u:p@EXAMPLE.org/", "http://www.example.org/ http://example.orga/ example.org mailto:a@example.org"},
		{"*.example.org", "http://a.example.org/ http://a.b.example.org/x", "http://example.org/ http://xexample.org/"},
		{"Example.ORG/private", "http://example.org/private http://example.org/privateer?x=1 https://example.org/private/", "http://example.org/ http://example.org/Private http://example.org/a/private"},
		{"example.org/*.pdf$", "http://example.org/a/b.pdf", "http://example.org/a.pdf?x=1 http://example.org/a.pdfx http://other.example/a.pdf"},
		{"example.org/*?*print=1", "http://example.org/a?print=1 http://example.org/?a=2&print=1&z=3", "http://example.org/print=1 http://example.org/?print=2"},
		{"*/calendar/ /cart$", "http://a.example/calendar/2 http://b.example/cart", "http://a.example/x/calendar/ http://a.example/cart/"},
		{"https://example.org/a", "https://example.org/ab", "http://example.org/ab https://example.org:8443/a https://example.org/"},
		{"http://example.org:80/a", "http://example.org/a", "http://example.org:81/a"},
		{"example.org:8080", "http://example.org:8080/", "http://example.org/ http://example.org:80800/"},
		{"example.org !example.org/open !*/robots.txt$", "http://example.org/ http://example.org/robots.txtx", "http://example.org/open/x http://example.org/robots.txt"},
		{"example.org/%c3%bc%7e example.org/ö", "http://example.org/%C3%BC~ http://example.org/%c3%bc%7E http://example.org/%C3%B6", "http://example.org/u"},
		{"münchen.example", "http://xn--mnchen-3ya.example/", "http://munchen.example/"},
		{"[::1] 10.0.0.1/x", "http://[::1]/ http://[::1]:99/a http://10.0.0.1/x", "http://[::2]/ http://10.0.0.1/"},
		{"*", "http://a.example/ ftp://b.example/x", "no-url"},
		{"", "", "http://a.example/"},
	} {
		s, err := NewURLSet(strings.Fields(c.rules))
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		for _, url := range strings.Fields(c.in) {
			if rule, ok := s.Match(url); !ok || !strings.Contains(c.rules, rule) {
				t.Errorf("%s: got %q, %v for %s; want it in the set", c.rules, rule, ok, url)
			}
		}
		for _, url := range strings.Fields(c.out) {
			if rule, ok := s.Match(url); ok {
				t.Errorf("%s: got %q for %s; want it not in the set", c.rules, rule, url)
			}
		}
	}
	for _, bad := range []string{"", "!", "example.org?x", "gopher://a.example/", "a b.example", "a.example/#x", "*.*", "a*.example", "u@a.example", "http://", "*example.org"} {
		if _, err := NewURLSet([]string{bad}); err == nil || !strings.Contains(err.Error(), "cannot use rule") {
			t.Errorf("%q: got %v; want it refused", bad, err)
		}
	}
	if rule, ok := (*URLSet)(nil).Match("http://a.example/"); ok || rule != "" {
		t.Error("a nil set has a URL")
	}
}
