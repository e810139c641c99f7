package canon

import (
	"strings"
	"testing"
)

// TestURLSet asks sets about URLs, and for the line that decides.
func TestURLSet(t *testing.T) {
	const scope = "\xef\xbb\xbf# a programme\r\nExample.com\r\n*.example.com\r\nhttps://pay.example.net:8443/v1/\n b.example/shop \n" +
		"c.example/*?*id=\nd.example/*.php$\n/open/\n192.0.2.0/24\n[2001:db8::1]\nbücher.example/%62aum/ö\n\n!blog.example.com\n!*.internal.example.com\n!/logout\n!example.com:8080\n"
	for url, want := range map[string]string{
		"http://example.com":                         "Example.com",
		"https://EXAMPLE.com:444/x?y#z":              "Example.com",
		"http://example.com.":                        "Example.com",
		"http://user:pw@example.com/":                "Example.com",
		"http://example.com:8080/":                   "-!example.com:8080",
		"http://a.b.example.com/":                    "*.example.com",
		"http://notexample.com/":                     "",
		"http://example.com.evil.example/":           "",
		"http://evil.example/example.com":            "",
		"http://evil.example/?u=//example.com/open/": "",
		"http://blog.example.com/":                   "-!blog.example.com",
		"http://x.internal.example.com/":             "-!*.internal.example.com",
		"http://a.example.com/logout?x":              "-!/logout",
		"http://a.example.com/a/logout":              "*.example.com",
		"https://pay.example.net:8443/v1/a":          "https://pay.example.net:8443/v1/",
		"https://pay.example.net/v1/a":               "",
		"http://pay.example.net:8443/v1/a":           "",
		"https://pay.example.net:8443/v2/":           "",
		"http://b.example/shop":                      "b.example/shop",
		"http://b.example/shopping":                  "b.example/shop",
		"http://b.example/Shop":                      "",
		"http://c.example/p?id=1":                    "c.example/*?*id=",
		"http://c.example/p?a=2&id=1":                "c.example/*?*id=",
		"http://c.example/id=1":                      "",
		"http://d.example/a/b.php":                   "d.example/*.php$",
		"http://d.example/a.php?x=1":                 "",
		"ftp://other.example/open/x":                 "/open/",
		"http://192.0.2.77/":                         "192.0.2.0/24",
		"http://0xC0000201/x":                        "192.0.2.0/24",
		"http://192.0.3.1/":                          "",
		"http://[2001:DB8:0::1]:90/":                 "[2001:db8::1]",
		"http://xn--bcher-kva.example/baum/%C3%b6l":  "bücher.example/%62aum/ö",
	} {
		s, err := ParseURLSet([]byte(scope))
		if err != nil {
			t.Fatal(err)
		}
		form, err := Qiita().AppendCanonical(nil, []byte(url))
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		rule, has := s.Has(form)
		if has != (want != "" && want[0] != '-') || rule != strings.TrimPrefix(want, "-") {
			t.Errorf("%s: got %q, %v; want %q", url, rule, has, want)
		}
	}
	only, err := ParseURLSet([]byte("!*.gov.example\n"))
	if err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string]bool{"http://a.gov.example/": false, "http://gov.example/": true, "mailto:x": true} {
		if _, has := only.Has([]byte(form)); has != want {
			t.Errorf("%s: got %v; want %v", form, has, want)
		}
	}
}

// TestURLSetRefuses names the line of a rule that would mean something else than it says, or nothing.
func TestURLSetRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "no rule",
		"# nothing\n":             "no rule",
		"a.example\n*example.com": "line 2: got \"*example.com\"",
		"*.example.*":             "line 1",
		"a.example b.example":     "one rule a line",
		"a.example # main":        "one rule a line",
		"gopher://a.example":      "scheme http, https or ftp",
		"https:///x":              "line 1",
		"a.example?x=1":           "a.example/?x=1",
		"!":                       "line 1",
		"a..example":              "",
		"https://a.example:http/": "line 1",
	} {
		if _, err := ParseURLSet([]byte(text)); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v; want %q", text, err, want)
		}
	}
}

// BenchmarkURLSet asks a set of 10,000 hosts.
func BenchmarkURLSet(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		text.WriteString("*.h" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ".example\n")
	}
	text.WriteString("!/logout\n")
	s, err := ParseURLSet([]byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	form := []byte("https://www.hxxa.example/a/page.html?id=1")
	b.ReportAllocs()
	for b.Loop() {
		s.Has(form)
	}
}
