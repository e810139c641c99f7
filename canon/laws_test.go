package canon

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"

	urlstd "github.com/firstseen/firstseen/internal/whatwg"
)

// otherParser is a WHATWG parser that is not ours, brought up to the standard in one point:
// it escapes "^" in paths.
var otherParser = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')))

// lawSeeds are inputs on which one canonicalizer or another breaks a law.
var lawSeeds = []string{
	"http://example.com/", "HTTP://User:Pa%73s@WWW.Example.COM:0080/a/./b/../%7ec//d;x?b=2&a=%61&a#!frag",
	"http://h/%%36%31", "http://h/%2%41", "http://h/%252f%25%32%66", "http://h/%2e%2E/a/.%2e/b/%2e",
	" \thttp://h\n/a\r/..\t./b ", `https:\\h\a\..\b?x\y`, "http:h/a", "http:///h//a//../b",
	"http://a.b.:/", "http://www.www.a.b/", "http://www.a./", "http://a../", "http://0x7f.1/", "http://1.2.3.4./",
	"http://[0:0::1]:80/", "http://[::ffff:1.2.3.4]/", "http://日本語。jp:80/ü?ü=ü#ü", "http://%e3%81%a6.jp/", "http://xn--wgv71a119e.jp/",
	"http://faß.de/", "http://％４１.com", "http://a%2fb/", "http://%5b::1%5d/", "http://[\ufeff::1]/", "http://\ufeff[::1]/", "http://a.xn--/", "http://\u00ad.`", "http://\u00ad.a/", "http://xn--bcé-kva.ch/", "ftp://u:p@%41", "http://xn--a/", "http://h:65536/", "http://h:/", "ftp://u:@h:21/",
	"http://h?&&", "http://h?=", "http://h?a&a=&=a&b+c=%20&b%20c=+", "http://h?a%5B%5D=1&a[]=1", "http://h?c%40=1&c@=2&c2",
	"http://h?utm_source=x&UTM%5FMedium=y&gclid=&a=1&phpsessid=1&sid=0123456789abcdef0123456789ABCDEF",
	"http://h/index.html/index.html", "http://h/a/index.html/", "http://h/a/Default.aspx?x", "http://h/x/..;jsessionid=1/y", "http://h/a/;jsessionid=1/b", "http://h/.;jsessionid=2",
	"http://h/(S(abcdefghijklmnopqrstuvwx))/../a.aspx", "http://h/(4hqa0555fwsecu455xqckv45)/mileg.aspx", "http://h/(X(1)F(abcdefghijklmnop-_))/a?AspxAutoDetectCookieSupport=1",
	"http://h/(4hqa0555fwsecu455xqckv45;jsessionid=1)/b.as%70x", "http://h/a?b;jsessionid=1;c&;jsessionid=2&phpsessid=3;d=4", "http://h/default.x_1", "http://h/Index.%31/index.aspx_",
	"http://h/a?b=1&amp;c=2&#38;d=3&#x0026;e", "http://h/a?amp;b=1&c&AMP;amp;d&amp=1", "http://h/x&amp;amp;#38;y?&%61mp;&#%33%38;#a&amp;b", "http://h&amp;a@b&amp;c/&#38;", "http://h/?c=1&a&amp;&;amp;b",
	"https://email@h/a", "http://h/?b=2&a=2&b=1&a=1&A=0", "http://h/?c%40=2&c@=1&c@=2&c%40=1&+=1&%20=0", "http://h/a'b?it's", "http://h/\xff?\xfe#\xfd", "http://h/ed\xed\xa0\x80", "mailto:a@b", "//h/a", "",
	"http://h/#\t!a", "http:0-0@-0", "http://u@@h:@i/", "http://h/a%00b?c%00", "http://h/wiki/page?oldid=1&id=2&ref=3", "http://h/Case%C3%a9",
}

// prefixes put whatever the fuzzer finds into each part of a URL.
var prefixes = []string{"", "http://", "https://example.com/", "http://www.h/?", "http://h/#", "https://a.b/x/../?a=b&", "ftp://u:p@", "http://h:",
	"http://www.a.example.com/wiki?x=1&", "http://h/wiki/?ref=1&id=2&"}

// subset derives the profile whose optional rules are those of the bits.
func subset(t testing.TB, bits uint32) *Profile {
	t.Helper()
	var opts []Option
	for id := range ruleCount {
		if !rules[id].Optional || id == rScopedParams || id == rScopedRules {
			continue
		}
		if bits&1 != 0 {
			opts = append(opts, Enable(rules[id].Rule))
		} else {
			opts = append(opts, Disable(rules[id].Rule))
		}
		bits >>= 1
	}
	if bits&1 != 0 {
		opts = append(opts, WithRuleFile(strings.NewReader(lawRuleFile)))
	}
	if bits&2 != 0 {
		opts = append(opts, WithLists(1))
	}
	p, err := Qiita().With(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const lawRuleFile = `{"params": [
	{"host": "h", "path": "/wiki", "keep": ["id", "a[]"]},
	{"host": "*.example.com", "path": "/wiki", "drop": ["x*"]},
	{"host": "h", "pattern": "/w*;x$", "drop": ["id"], "keep": ["ref"]},
	{"host": "*", "drop": ["ref", "b c"]}]}`

func seedLaws(f *testing.F) {
	for i, s := range lawSeeds {
		f.Add([]byte(s), uint32(0), uint8(0))
		f.Add([]byte(s), uint32(uint64(i)*0x9e3779b1)|0x1000, uint8(0))
		f.Add([]byte(s), ^uint32(0), uint8(i))
	}
	eachMutant(func(raw []byte, bits uint32) { f.Add(raw, bits, uint8(bits>>24)) })
}

// FuzzIdempotent holds f(f(x)) = f(x) under every subset of the optional rules.
func FuzzIdempotent(f *testing.F) {
	seedLaws(f)
	f.Fuzz(func(t *testing.T, tail []byte, bits uint32, prefix uint8) {
		raw := append([]byte(prefixes[int(prefix)%len(prefixes)]), tail...)
		checkIdempotent(t, subset(t, bits), raw)
		checkIdempotent(t, Qiita(), raw)
	})
}

func checkIdempotent(t *testing.T, p *Profile, raw []byte) {
	t.Helper()
	before := bytes.Clone(raw)
	once, err := p.AppendCanonical(nil, raw)
	if !bytes.Equal(raw, before) {
		t.Fatalf("%s: input changed from %q to %q", p, before, raw)
	}
	if err != nil {
		if Code(err) == "" || once != nil {
			t.Errorf("%s of %q: got %q and error %v of code %q; want nothing and a code", p, raw, once, err, Code(err))
		}
		return
	}
	twice, err := p.AppendCanonical(nil, once)
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("%s of %q: got %q, then %q, %v; want no change", p, raw, once, twice, err)
	}
}

// judgesHostsOtherwise reports whether the parser library may take a host that it should
// refuse, with a label "xn--" or one that begins so and is not ASCII; or refuse one that
// it should take, with signs like "`" beside letters that are not ASCII. Of an IPv6 host it
// trims all brackets, where WHATWG takes off one pair and refuses the rest.
func judgesHostsOtherwise(raw string) bool {
	plain := urlstd.LowerText(urlstd.Unescape(raw))
	return strings.Contains(plain, "xn--") || !urlstd.IsASCII(plain) || strings.Count(plain, "[") > 1 || strings.Count(plain, "]") > 1
}

// FuzzWHATWG holds the whatwg profile equal to a parser that is not ours, but where
// parserErrs reports that the parser is wrong.
func FuzzWHATWG(f *testing.F) {
	seedLaws(f)
	f.Fuzz(func(t *testing.T, tail []byte, _ uint32, prefix uint8) {
		raw := prefixes[int(prefix)%len(prefixes)] + string(tail)
		got, err := WHATWG().Canonicalize(raw)
		u, theirs := otherParser.Parse(escapeInvalid(raw))
		switch {
		case err == nil && parserErrs(got):
		case (err == nil) != (theirs == nil) && (len(raw) > 1000 || judgesHostsOtherwise(raw)):
		case (err == nil) != (theirs == nil):
			t.Errorf("%q: got %q, %v; a WHATWG parser gives %q, %v", raw, got, err, u, theirs)
		case err == nil && got != u.Href(false):
			t.Errorf("%q: got %q; a WHATWG parser gives %q", raw, got, u.Href(false))
		}
		checkIdempotent(t, WHATWG(), []byte(raw))
	})
}

// FuzzFixpoint holds WHATWG(f(x)) = f(x), with a parser that is not ours.
func FuzzFixpoint(f *testing.F) {
	seedLaws(f)
	f.Fuzz(func(t *testing.T, tail []byte, bits uint32, prefix uint8) {
		raw := append([]byte(prefixes[int(prefix)%len(prefixes)]), tail...)
		checkFixpoint(t, subset(t, bits), raw)
		checkFixpoint(t, Qiita(), raw)
	})
}

func checkFixpoint(t *testing.T, p *Profile, raw []byte) {
	t.Helper()
	once, err := p.AppendCanonical(nil, raw)
	if err != nil {
		return
	}
	ours := string(once)
	if parserErrs(ours) {
		host := hostOnly(ours)
		if canon, err := urlstd.ToASCII(host); err != nil || canon != host {
			t.Errorf("%s of %q: got %q, whose host maps to %q, %v; want no change", p, raw, ours, canon, err)
		}
		ours = withHost(ours, host, "h")
	}
	u, err := otherParser.Parse(ours)
	if err != nil || u.Href(false) != ours {
		t.Errorf("%s of %q: got %q; a WHATWG parser makes of it %q, %v; want no change", p, raw, ours, u, err)
	}
}

// withHost puts another host in place of that of a canonical URL, whose user may read the same.
func withHost(canonical, host, other string) string {
	end := len("https://") + strings.IndexByte(canonical[len("https://"):]+"/", '/')
	at := strings.LastIndex(canonical[:end], host)
	return canonical[:at] + other + canonical[at+len(host):]
}

// hostOnly is the host of a canonical URL, without port.
func hostOnly(canonical string) string {
	host, _ := urlstd.CutPort(string(Host([]byte(canonical))))
	return host
}

// parserErrs reports whether the parser library is wrong about the host: it refuses
// mathematical signs that compose with "<", "=" and ">", takes signed numbers and
// overlong digits in the last label for IPv4, and checks xn-- labels strictly.
func parserErrs(canonical string) bool {
	host := strings.TrimSuffix(hostOnly(canonical), ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	return hasUnicodeLabel([]byte(host)) || strings.ContainsAny(last, "+-") || len(last) > 15
}

// escapeInvalid escapes every byte that is not part of valid UTF-8.
func escapeInvalid(s string) string {
	var b []byte
	for i, r := range s {
		if _, n := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && n == 1 {
			b = urlstd.AppendEscape(b, s[i])
		} else {
			b = append(b, s[i:i+n]...)
		}
	}
	return string(b)
}
