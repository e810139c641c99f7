package sxurl

import (
	"strconv"
	"testing"
)

var fuzzSeeds = []string{
	"https://www.example.co.uk:8443/a/b.html?q=1&r#top", "HTTP://user:pw@Bücher.example/ä?ö#ü", "ftp://a.github.io/", "http://1.2.3.4/", "http://a_b.c/",
	"http:///x", "mailto:a@b", "file:///C:/x", "https://xn--bcher-kva.de:0/..", "http://co.uk/?#", "http://a..b./", "http://h/%2e%2E/\\x",
}

// FuzzEncode: the key of a URL, taken apart, has each of its parts, and denies others; an
// Encoder makes the same key; the key of the host is that of the key.
func FuzzEncode(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, url string, v1 bool) {
		c := Codec{Strict: true}
		if v1 {
			c.Layout = Release11
		}
		key, err := c.Encode(url)
		e := NewEncoder(c)
		for range 2 {
			if again, err2 := e.Encode(url); again != key || crateName(err, "") != crateName(err2, "") {
				t.Fatalf("%q: Codec %v, %v; Encoder %v, %v", url, key, err, again, err2)
			}
		}
		if err != nil {
			return
		}
		parts, err := ParseParts(url)
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, c, key, parts)
		checkHost(t, c, url, key)
	})
}

func checkParts(t *testing.T, c Codec, key Key, p Parts) {
	t.Helper()
	if p.Port == 0 {
		c.Strict = false // it refuses port 0, which URLs can have
	}
	fields, err := c.Decode(key)
	if err != nil {
		t.Fatalf("%v of %+v: %v", key, p, err)
	}
	if fields.HasSubdomain != (p.Subdomain != "") || fields.HasQuery != (p.Query != "") || fields.HasFragment != (p.Fragment != "") ||
		fields.HasPort != (p.Port != defaultPort(p.Scheme)) || fields.Port != p.Port || fields.Scheme != p.Scheme {
		t.Errorf("%v: got %+v; want those of %+v", key, fields, p)
	}
	for component, value := range map[Component]string{
		TLD: p.TLD, Domain: p.Domain, Subdomain: p.Subdomain, Path: p.Path, Query: p.Query, Fragment: p.Fragment,
		Port: strconv.Itoa(int(p.Port)), Scheme: p.Scheme,
	} {
		if ok, err := c.Match(key, component, value); !ok || err != nil {
			t.Errorf("%v: %s=%q: got %t, %v; want true", key, component, value, ok, err)
		}
		if component != TLD && component != Fragment { // the others have 32 bits or are in clear
			if ok, err := c.Match(key, component, value+"~"); ok || err != nil {
				t.Errorf("%v: %s=%q: got %t, %v; want false", key, component, value+"~", ok, err)
			}
		}
	}
}

func checkHost(t *testing.T, c Codec, url string, key Key) {
	t.Helper()
	c.Strict = false
	fromKey, err := c.HostKey(key)
	if err != nil {
		t.Errorf("%q: host of %v: %v", url, key, err)
	}
	if again, err := c.HostKey(fromKey); again != fromKey || err != nil {
		t.Errorf("%q: host of the host is %v, %v; want %v", url, again, err, fromKey)
	}
}

// FuzzKeys checks that no text makes a function panic, and that a key prints as it was read.
func FuzzKeys(f *testing.F) {
	f.Add("10062fe9cee73c091a1a7b0000000001bb98911d784580332000000000000000", "tld", "com")
	f.Add("00ad25654b1a1a093ce7ce09000000000001bb35884d71189f90000000000000", "anchor", "")
	f.Add("éééééééééééééééééééééééééééééééé", "host", "a.b")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		for i := range 8 {
			c := Codec{Layout: Layout(i & 1), Strict: i&2 != 0, Loose: i&4 != 0}
			fields, err := decodeHex(c, text)
			if crateName(err, "x") == "an error without a Reason" || err != nil && fields != (Fields{}) {
				t.Errorf("%q: got %+v, %v", text, fields, err)
			}
			key, err := ParseKey(text)
			if err != nil {
				continue
			}
			if _, err := c.HostKey(key); crateName(err, "x") == "an error without a Reason" {
				t.Errorf("host of %q: got %v", text, err)
			}
			if back, err := ParseKey(key.Hex()); back != key || err != nil {
				t.Errorf("%q: got %v, then %v, %v", text, key, back, err)
			}
			if _, err := matchName(c, key, name, value); crateName(err, "x") == "an error without a Reason" {
				t.Errorf("%s=%q in %s: got %v", name, value, text, err)
			}
		}
	})
}

// FuzzURL checks that every refusal has a Reason, and that the results of Without and Join
// parse to themselves.
func FuzzURL(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, "../b?c#d")
		f.Add(s, "//h\\x")
	}
	f.Fuzz(func(t *testing.T, raw, ref string) {
		u, err := ParseURL(raw)
		if err != nil {
			return
		}
		u.Port()
		u.Filename()
		for range u.Params() {
		}
		for _, c := range []Component{TLD, Domain, Subdomain, Path, Query, Fragment, Port, Scheme, Host, PathSegments, Filename} {
			if _, _, err := u.Get(c); crateName(err, "x") == "an error without a Reason" {
				t.Errorf("get %s of %q: got %v", c, raw, err)
			}
			s, err := u.Without(c)
			checkMade(t, raw, string(c), s, err)
		}
		s, err := u.Join(ref)
		checkMade(t, raw, ref, s, err)
	})
}

func checkMade(t *testing.T, raw, what, made string, err error) {
	t.Helper()
	if err != nil {
		if crateName(err, "x") == "an error without a Reason" || made != "" {
			t.Errorf("%q with %q: got %q, %v", raw, what, made, err)
		}
		return
	}
	if again, err := parse(made); again.Join() != made || err != nil {
		t.Errorf("%q with %q: got %q, which parses as %q, %v", raw, what, made, again.Join(), err)
	}
}
