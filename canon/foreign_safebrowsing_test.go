package canon

import "testing"

func TestSafeBrowsingWhereTheTextIsSilent(t *testing.T) {
	for _, c := range []struct{ in, want, code string }{
		{"http://user:pass@h/", "http://h/", ""},
		{"http://a.:80./", "http://a/", ""},
		{"h:80/a", "http://h/a", ""},
		{"http%3A%2F%2Fwackyurl.com:80/", "http://wackyurl.com/", ""},
		{"http://www.ümlat.com/", "http://www.xn--mlat-zra.com/", ""},
		{"http://www.%C3%BCmlat.com/", "http://www.xn--mlat-zra.com/", ""},
		{"http://％４１.com/", "http://%EF%BC%85%EF%BC%94%EF%BC%91.com/", ""},
		{"http://［%2e/］/", "http://%EF%BC%BB/%EF%BC%BD/", ""},
		{"http://［::1］/", "http://%EF%BC%BB::1%EF%BC%BD/", ""},
		{"http://a。。b/", "http://a.b/", ""},
		{"http://12.0x12.01234/", "http://12.18.2.156/", ""},
		{"http://1.2.3.256/", "http://1.2.3.256/", ""},
		{"http://[::ffff:1.2.3.4]:80/", "http://1.2.3.4/", ""},
		{"http://[64:ff9b::1.2.3.4]/", "http://1.2.3.4/", ""},
		{"http://[2001:0db8:0000::1]/", "http://[2001:db8::1]/", ""},
		{"http://[x]/", "http://[x]/", ""},
		{"http://[::0001].:80/", "http://[::1]/", ""},
		{"http://[::1]4/", "http://[::1]4/", ""},
		{"http://h/a//../b", "http://h/a/b", ""},
		{"http://h/%2e%2e/%2e/a%3Fb", "http://h/a?b", ""},
		{"http://h?q", "http://h/?q", ""},
		{"FTP://H/A", "ftp://h/A", ""},
		{"", "", "url"}, {"/blah", "", "url"}, {"http:///a", "", "url"}, {"http://:80", "", "url"}, {"http://../", "", "url"},
		{"mailto:a@b", "", "scheme"}, {"http:a", "", "scheme"},
	} {
		checkRow(t, SafeBrowsing(), "text", c.in, c.want, c.code)
	}
}

func FuzzSafeBrowsing(f *testing.F) {
	for _, s := range []string{"http://%25%32%35.com//%2e./x?%3f#y", "http://[::FFFF:1.2.3.4]:80/", "a:1:2.", "％４１.com", "http://ü。/", " %20", "p://[::FF1:1.1.2.3]4."} {
		f.Add(s)
	}
	eachMutant(func(raw []byte, _ uint32) { f.Add(string(raw)) })
	f.Fuzz(func(t *testing.T, raw string) {
		once, err := SafeBrowsing().Canonicalize(raw)
		if err != nil {
			return
		}
		if twice, err := SafeBrowsing().Canonicalize(once); twice != once || err != nil {
			t.Errorf("%q: got %q, then %q, %v; want no change", raw, once, twice, err)
		}
	})
}
