package canon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
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
		"https://a.example:http/": "line 1",
		".example.com":            "want *.example.com for the hosts below it, or example.com",
		"a.example:99999":         "want a port from 0 to 65535",
		"https://a.example:/":     "want a port from 0 to 65535",
		"http//shop.com":          "http://HOST/PATH",
		"HTTP:shop.com/":          "http://HOST/PATH",
		"//shop.com/x":            "want shop.com/x",
		"10.0/16":                 "a range such as 192.0.2.0/24",
		"10.0.0.0/08":             "http://10.0.0.0/08",
		"10.0.0.0/33":             "a range such as",
		"2001:db8::/129":          "a range such as",
		"[2001:db8::]/32":         "a range such as",
		"2001:db8::1":             "brackets",
		"a.example/../x":          "dot segments",
		"a.example/%2e%2E?x":      "dot segments",
		`a.example/a\b`:           "dot segments",
		"a.example\n!*/*":         "line 2: got \"!*/*\", which leaves no URL",
	} {
		if _, err := ParseURLSet([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q", text, err, want)
		}
	}
}

// TestRulesThatNoURLFits refuses hosts that no URL can have in all rules alike: those of sets and of rule files.
func TestRulesThatNoURLFits(t *testing.T) {
	for _, host := range []string{".", "..", "*.", "*..", ".a.example", "*..a.example", "a..example", "a.example..", "*.*", "**", "a.*", "*.192.0.2.1", "*.0x7f.1",
		"*.[::1]", "[::1", "256.0.0.1", "1.2.3.4.5", "a%2fb", "a@b", "a b", "a|b"} {
		if _, err := ParseURLSet([]byte(host)); err == nil {
			t.Errorf("set: %s is accepted", host)
		}
		text, _ := json.Marshal(host)
		for _, file := range []string{`{"params":[{"host":%s,"drop":["x"]}]}`, `{"sites":[{"host":%s,"rules":["+strip-index"]}]}`, `{"trust_declared":[%s]}`} {
			if _, err := Qiita().With(WithRuleFile(strings.NewReader(fmt.Sprintf(file, text)))); err == nil {
				t.Errorf("%s with %s is accepted", file, text)
			}
		}
	}
}

// TestOddHosts takes a host in a set if there is a URL with it: hosts with each character that can be in one, and long labels.
func TestOddHosts(t *testing.T) {
	hosts := []string{strings.Repeat("a", 64), "*." + strings.Repeat("a", 64) + ".example"}
	for c := byte('!'); c < 0x7f; c++ {
		if !strings.ContainsRune("#*/:?@\\", rune(c)) {
			hosts = append(hosts, "a"+string(c)+"b.example", "*.a"+string(c)+"b.example")
		}
	}
	for _, host := range hosts {
		canonical, canonErr := Qiita().Canonicalize("http://" + strings.TrimPrefix(host, "*.") + "/")
		s, err := ParseURLSet([]byte(host))
		if (err == nil) != (canonErr == nil) {
			t.Errorf("%s: got %v from the set; want an error just if there is no URL: %v", host, err, canonErr)
		} else if err == nil {
			if _, ok := s.Has([]byte(canonical)); !ok && host[0] != '*' {
				t.Errorf("%s: is not in its set", canonical)
			}
		}
	}
}

// TestURLSetHolds makes rules of parts at random: for each that is accepted there is a URL that it has, and a set that Check
// accepts leaves another URL out.
func TestURLSetHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	accepted, every := 0, 0
	for range 20_000 {
		host := pick("", "a.example", "*.a.example", "*", "*.", ".a", "a..b", "A.Example.", "10.0.0.1", "10.1", "[::1]", "::1", "b\u00fc.example", "*.10.1", "http", "a,b")
		rule := pick("", "", "http://", "HTTPS://", "http:", "//") + host + pick("", "", ":", ":80", ":0080", ":99999", ":x") +
			pick("", "/", "/a", "/8", "/33", "/*", "/**", "/*$", "/$", "/a*b$", "//a", "/../a", "/..a", "/a/.", "/a/.$", "/%2e/", `/a\b`, "/?x", "?x", "/*?*x=*y", "/*$$", "/%zz", "/%41*")
		s, err := ParseURLSet([]byte(rule))
		if _, notRange := netip.ParsePrefix(rule); err != nil || notRange == nil {
			continue
		}
		accepted++
		if _, _, ok := strings.Cut(rule, "://"); !ok {
			rule = "http://" + rule
		}
		if scheme, rest, _ := strings.Cut(rule, "://"); rest == "" || rest[0] == '/' {
			rule = scheme + "://any.example" + rest
		} else if rest[0] == '*' {
			rule = scheme + "://any.example." + strings.TrimLeft(rest, "*.")
		}
		_, missing := s.Has([]byte("ftp://other.invalid:99/other?other"))
		if missing != (s.Check() != nil) {
			t.Errorf("%s: got %v for a rule that has every URL: %v", rule, s.Check(), missing)
		}
		if missing {
			every++
		}
		if !hasOne(s, rule) {
			t.Errorf("%s is accepted, and fits no URL", rule)
		}
	}
	if accepted < 2000 || every == 0 {
		t.Errorf("got %d accepted rules, %d for every URL; want more", accepted, every)
	}
}

// hasOne reports whether a set has one of the URLs that its rule describes.
func hasOne(s *URLSet, rule string) bool {
	for _, end := range []string{strings.TrimSuffix(rule, "$"), rule + "x"} {
		for _, p := range []*Profile{WHATWG(), Qiita()} {
			form, err := p.AppendCanonical(nil, []byte(strings.ReplaceAll(end, "*", "x")))
			if _, has := s.Has(form); err == nil && has {
				return true
			}
		}
	}
	return false
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
