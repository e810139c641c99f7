package sxurl

import (
	"errors"
	"fmt"
	"testing"
)

// TestReadmeExamples are the examples of the crate's README that its code refuses or
// answers otherwise; ours do what their names promise.
func TestReadmeExamples(t *testing.T) {
	k, err := Codec{}.Encode("https://api.github.com/repos/rust-lang/rust")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"subdomain", "sub"} {
		if ok, err := matchName(Codec{}, k, name, "api"); !ok || err != nil {
			t.Errorf("match of %s: got %t, %v; want true", name, ok, err)
		}
	}
	if _, err := matchName(Codec{}, k, "filename", "rust"); !errors.Is(err, ErrComponent) {
		t.Errorf("match of a file name: got %v; want ErrComponent", err)
	}
	for host, want := range map[string]bool{"api.github.com": true, "github.com": false, "com": false, "": false} {
		if ok, err := (Codec{}).Match(k, Host, host); ok != want || err != nil {
			t.Errorf("match of host %q: got %t, %v; want %t", host, ok, err, want)
		}
	}
}

// TestCorrected holds each difference between our way and the crate's, whose answer is the last column.
func TestCorrected(t *testing.T) {
	port := func(u *URL) string { p, ok := u.Port(); return fmt.Sprint(p, ok) }
	flags := func(u *URL) string {
		scheme, _, _ := u.Get(Scheme)
		_, ok, _ := u.Get(Query)
		return fmt.Sprint(scheme == "https", ok)
	}
	host := func(u *URL) string {
		tld, domain, _, err := u.SplitHost()
		return fmt.Sprint(domain, " ", tld, " ", err != nil)
	}
	file := func(u *URL) string { name, ok := u.Filename(); return fmt.Sprint(name, ok) }
	without := func(c Component) func(u *URL) string {
		return func(u *URL) string { s, err := u.Without(c); return fmt.Sprint(s, err != nil) }
	}
	for _, c := range []struct {
		name, url   string
		f           func(*URL) string
		ours, crate string
	}{
		{"port in upper case", "HTTPS://EXAMPLE.com:443", port, "443 true", "0 false"},
		{"port in a query", "https://example.com/?u=example.com:1", port, "0 false", "443 true"},
		{"port after a user", "https://u:1@example.com/", port, "0 false", "0 false"},
		{"port of wss", "wss://example.com:443/", port, "443 true", "80 true"},
		{"no port after a colon", "http://example.com:/", port, "0 false", "80 true"},
		{"scheme in upper case", "HTTPS://h.com/", flags, "true false", "false false"},
		{"question in a fragment", "https://h.com/#a?b", flags, "true false", "true true"},
		{"an address is no domain", "http://10.1.2.3/", host, "  true", "2 3 false"},
		{"a folder is no file", "http://h.com/a.d/", file, "false", "a.dtrue"},
		{"empty segments stay", "http://h.com/a//b/c.d", without(Filename), "http://h.com/a//b/false", "http://h.com/a/b/false"},
		{"an opaque path", "mailto:a@b", without(Path), "true", "mailto:%2Ffalse"},
		{"an address keeps its numbers", "http://10.1.2.3/", without(Subdomain), "true", "http://2.0.0.3/false"},
	} {
		u, err := ParseURL(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.f(u); got != c.ours {
			t.Errorf("%s: %q: got %q; want %q, not the crate's %q", c.name, c.url, got, c.ours, c.crate)
		}
	}
}

func TestSixtyFourBitsOfV1(t *testing.T) {
	ours, err1 := Release11.HashComponent("tld", []byte("com"), 64)
	low, err2 := Release11.HashComponent("tld", []byte("com"), 63)
	if ours&(1<<63-1) != low || ours == 0 || errors.Join(err1, err2) != nil {
		t.Errorf("got %x, 63 bits %x, %v, %v", ours, low, err1, err2)
	}
	for _, n := range []int{-1, 65} {
		if _, err := Release02.HashComponent("tld", nil, n); !errors.Is(err, ErrBits) {
			t.Errorf("%d bits: got %v; want ErrBits", n, err)
		}
	}
}

func TestLooseProbes(t *testing.T) {
	k, err := Codec{}.Encode("https://www.bücher.example.co.uk/ä b?q=é#f g")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		component Component
		value     string
		plain     bool // matches without Loose too
	}{
		{TLD, ".CO.UK", false}, {TLD, "co.uk", true}, {Domain, "Example", false}, {Subdomain, "WWW.Bücher", false},
		{Subdomain, "www.xn--bcher-kva", true}, {Path, "ä b", false}, {Path, "/%C3%A4%20b", true},
		{Query, "?q=é", false}, {Query, "q=%C3%A9", true}, {Fragment, "#f g", false}, {Fragment, "f%20g", true},
		{Host, "WWW.Bücher.Example.co.uk", false}, {Scheme, "HTTPS", false}, {Scheme, "https", true}, {Port, "443", true},
	} {
		for _, loose := range []bool{false, true} {
			got, err := Codec{Loose: loose}.Match(k, c.component, c.value)
			if want := loose || c.plain; got != want || err != nil {
				t.Errorf("%s=%q, loose %t: got %t, %v; want %t", c.component, c.value, loose, got, err, want)
			}
		}
	}
}

func TestEncoderMakesTheCodecsKeys(t *testing.T) {
	urls := []string{
		"https://www.example.com/a?b#c", "http://www.example.com:8080/", "ftp://www.example.com/x", "https://example.com/",
		"HTTP://EXAMPLE.com", "https://a_b.com/", "https://localhost/", "https://1.2.3.4/", "http://a..b/", "http://é.com/", "mailto:x", "http://-a.com/",
	}
	for _, l := range []Layout{Release02, Release11} {
		codec := Codec{Layout: l}
		e := NewEncoder(codec)
		for range 2 {
			for _, u := range urls {
				want, wantErr := codec.Encode(u)
				got, err := e.Encode(u)
				if got != want || crateName(err, "") != crateName(wantErr, "") {
					t.Errorf("%q: got %v, %v; want %v, %v", u, got, err, want, wantErr)
				}
			}
		}
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	url := "https://www.example.com/some/path?with=query#and-fragment"
	e := NewEncoder(Codec{})
	k, err := e.Encode(url)
	if err != nil {
		t.Fatal(err)
	}
	key := k.Hex()
	probe, _ := Codec{}.Probe(Domain, "example")
	for name, f := range map[string]func(){
		"Encoder.Encode": func() { _, _ = e.Encode(url) },
		"ParseKey":       func() { _, _ = ParseKey(key) },
		"Codec.Decode":   func() { _, _ = Codec{}.Decode(k) },
		"Probe.Match":    func() { _, _ = probe.Match(k) },
		"Codec.Match":    func() { _, _ = Codec{}.Match(k, Domain, "example") },
		"HashComponent":  func() { _, _ = Release02.Hash(Path, "/some/path") },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: got %v allocations; want none", name, n)
		}
	}
}
