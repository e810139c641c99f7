package declared

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnlisted: after these pages, which are fetched in order and of which none may be left out, some URLs are still fetched and others are left out. A URL ends in
// "!" if its page asks for nothing.
func TestUnlisted(t *testing.T) {
	for name, c := range map[string]struct {
		fetched       string
		kept, without string
	}{
		"a parameter": {"/w?do=edit&t=a /w?do=edit&t=b /w?do=edit&t=c", "/w?do=index&t=a /v?do=edit&t=d /w?to=edit&t=d",
			"/w?do=edit&t=d /w?do=edit&section=2&t=d"},
		"two pages":        {"/w?do=edit&t=a /w?do=edit&t=b", "/w?do=edit&t=d", ""},
		"one page, again":  {"/w?do=edit&t=a /w?do=edit&t=b /w?do=edit&t=a /w?t=b&do=edit", "/w?do=edit&t=d", ""},
		"a value, again":   {"/w?x=1&x=2&x=3", "/w?x=4&x=5&x=6", ""},
		"one is listed":    {"/w?do=edit&t=a /w?do=edit&t=b /w?do=edit&t=c! /w?do=edit&t=d /w?do=edit&t=e /w?do=edit&t=f", "/w?do=edit&t=g", ""},
		"a directory":      {"/Log/ann /Log/bob /Log/eve /Log/a /Log/b /Log/c /Log/d /Log/e", "/Log /Log2/x /", "/Log/joe /Log/joe/x /Log/joe?limit=50"},
		"forms to log in":  {"/user/login /user/register /user/password /user/sso", "/user/ann", ""},
		"the pages of one": {"/w?do=edit&t=a /w?do=log&t=a /w?do=info&t=a", "/w?t=a /w?do=edit&t=b", "/w?do=diff&t=a"},
		"in a directory": {"/w/a! /w/a?do=edit /w/b?do=edit /w/c?do=edit /w/d?do=edit /w/e?do=edit /w/f?do=edit /w/g?do=edit /w/h?do=edit",
			"/w/i /w/i?do=show /w/x/i?do=edit /i?do=edit", "/w/i?do=edit /w/a?do=edit&section=2"},
		"in a directory, one is listed": {"/w/a! /w/a?do=edit /w/b?do=edit! /w/c?do=edit /w/d?do=edit /w/e?do=edit /w/f?do=edit /w/g?do=edit /w/h?do=edit /w/i?do=edit", "/w/j?do=edit", ""},
		"with digits":                   {"/1/a /2/a /3/a /4/a /5/a /6/a /7/a /8/a", "/x/a", "/9/b"},
		"values":                        {"/w?id=v1&x=a /w?id=2&x=b /w?id=33&x=c", "/w?id=v&x=d /w?id=4", "/w?id=4&x=d"},
		"below a value":                 {"/w?t=Log/ann /w?t=Log%2Fbob /w?t=Log/eve", "/w?t=Login /w?t=x/Log", "/w?t=Log/joe /w?t=Log"},
		"nothing else":                  {"/a /b /c", "/ /d /a?x=y", ""},
		"another host":                  {"/w?do=edit&t=a /w?do=edit&t=b /w?do=edit&t=c", "//b.example/w?do=edit&t=d", "/w?do=edit&t=d"},
	} {
		var u Unlisted
		absolute := func(url string) string { return "http:" + strings.Replace("//a.example"+url, "//a.example//", "//", 1) }
		for url := range strings.FieldsSeq(c.fetched) {
			url, listed := strings.CutSuffix(url, "!")
			if u.Exclude(absolute(url)) {
				t.Errorf("%s: %s is left out before it is fetched", name, url)
			}
			u.Fetched(strings.ToUpper("http")+absolute(url)[4:], Page{Unlisted: !listed})
		}
		for i, urls := range []string{c.kept, c.without} {
			for url := range strings.FieldsSeq(urls) {
				if got := u.Exclude(absolute(url)); got != (i == 1) {
					t.Errorf("%s: %s: got left out %v; want %v", name, url, got, i == 1)
				}
			}
		}
	}
}

// TestUnlistedCopies: URLs with a parameter are left out once eight pages with it were copies of others, each if the page without it was fetched.
func TestUnlistedCopies(t *testing.T) {
	const site = "http://a.example"
	page := func(links string) []byte {
		var b strings.Builder
		b.WriteString("<link rel=canonical href=%s><body>")
		for _, l := range strings.Fields(links) {
			fmt.Fprintf(&b, "<p><a class=x HREF=' %s#top'>", l)
		}
		return []byte(b.String())
	}
	for name, c := range map[string]struct {
		query     string // of the eighth of the pages that may be copies
		canonical string // of that page; the others name the page without the parameter
		links     string // its links; those of the others are "/ /next" as of the pages without it
		without   bool   // URLs with x are left out then
	}{
		"copies":               {"?x=8", "/8", "/next / /next", true},
		"one has another link": {"?x=8", "/8", "/next / /more", false},
		"one lacks a link":     {"?x=8", "/8", "/next", false},
		"one names itself":     {"?x=8", "/8?x=8", "/ /next", false},
		"one names none":       {"?x=8", "", "/ /next", false},
		"one names another":    {"?x=8", "/7", "/ /next", false},
		"one lacks two":        {"?x=8&y=1", "/8", "/ /next", true},
		"one keeps another":    {"?x=8&p=2", "/8?p=2", "/ /next", true},
	} {
		var u Unlisted
		fetch := func(url, canonical, links string) {
			if u.Exclude(site + url) {
				t.Errorf("%s: %s is left out before it is fetched", name, url)
			}
			head := ""
			if canonical != "" {
				head = site + canonical
			}
			u.Fetched(site+url, Of(site+url, map[string][]string{"Content-Type": {"text/html"}}, []byte(strings.ReplaceAll(string(page(links)), "%s", head))))
		}
		for i := range 7 {
			fetch(fmt.Sprintf("/%d?x=0", i), fmt.Sprintf("/%d", i), "/ /next") // before its page: nobody knows
			fetch(fmt.Sprintf("/%d", i), fmt.Sprintf("/%d", i), "/ /next")
			for n := range 3 {
				fetch(fmt.Sprintf("/%d?x=%d", i, n), fmt.Sprintf("/%d", i), "/next /") // several of one page count once
			}
		}
		fetch("/8", "/8", "/ /next")
		fetch("/8?p=2", "/8?p=2", "/ /next")
		fetch("/8"+c.query, c.canonical, c.links)
		fetch("/list", "", "/1 /2")        // whose pages ?x= may be others
		fetch("/news/", "/news/", "/1 /2") // the directory itself, and what is in it
		fetch("/news/1", "/news/1", "/1 /2")
		for url, want := range map[string]bool{"/1?x=9": true, "/1?x=a": true, "/8?p=2&x=9": true, "/9?x=1": false, "/1?y=1": false, "/1": false, "/list?x=2": false, "/news/?x=2": true, "/news/1?x=2": false, "/1?p=2&x=9": false} {
			if got := u.Exclude(site + url); got != (want && c.without) {
				t.Errorf("%s: %s: got left out %v; want %v", name, url, got, want && c.without)
			}
		}
		if u.Exclude("http://b.example/1?x=9") {
			t.Errorf("%s: a URL of another host is left out", name)
		}
	}
}

// TestUnlistedSignIn: forms to sign in are left out by the value of a parameter, once eight pages were the same one.
func TestUnlistedSignIn(t *testing.T) {
	const site, form = "http://a.example", `<p>Sign in <form><input name=p type="password"></form>`
	for name, c := range map[string]struct {
		first, last string // the first page of all, and the eighth with the value
		without     bool
	}{
		"forms":             {form, `<h1>Sign in</h1><input type='password'>`, true},
		"seven":             {form, "", false},
		"one asks for none": {form, "<p>Sign in", false},
		"one has more":      {form, form + "x", false},
		"one has less":      {form + "x", form, false},
	} {
		var u Unlisted
		fetch := func(url, body string) {
			if u.Exclude(site + url) {
				t.Errorf("%s: %s is left out before it is fetched", name, url)
			}
			u.Fetched(site+url, Of(site+url, map[string][]string{"Content-Type": {"text/html"}}, []byte(body)))
		}
		fetch("/w?do=edit&t=a", c.first)
		for _, url := range []string{"/w?do=edit&t=b", "/w?do=edit&t=c", "/w?do=edit&t=d", "/w?do=edit&t=e", "/w?do=edit&t=f", "/w?do=edit&t=g"} {
			fetch(url, form)
		}
		if c.last != "" {
			fetch("/w?do=edit&t=h", c.last)
		}
		for url, want := range map[string]bool{"/w?do=edit&t=i": true, "/w?do=show&t=i": false, "/w?t=i": false, "/w?do=edit": false, "/x/w?do=edit&t=i": false} {
			if got := u.Exclude(site + url); got != (want && c.without) {
				t.Errorf("%s: %s: got left out %v; want %v", name, url, got, want && c.without)
			}
		}
	}
	var u Unlisted
	for i := range 2 * enoughBelow {
		url := fmt.Sprintf("%s/user/%s", site, []string{"login?next=/", "login?next="}[i%2]+fmt.Sprint(i))
		u.Fetched(url, Of(url, map[string][]string{"Content-Type": {"text/html"}}, []byte(form)))
	}
	if u.Exclude(site + "/user/ann") {
		t.Error("a user's page is left out because of forms in its directory")
	}
	for format, want := range map[string]bool{"/topic?t=%d": false, "/?q=node/%c": false, "/login?next=/%c": true, "/login?next=https://a.example/%c": true} {
		for i := range 'i' - 'a' + 1 {
			v := any('a' + i)
			if strings.HasSuffix(format, "d") {
				v = i
			}
			if url := site + fmt.Sprintf(format, v); i < enoughBelow {
				u.Fetched(url, Of(url, map[string][]string{"Content-Type": {"text/html"}}, []byte(form)))
			} else if got := u.Exclude(url); got != want {
				t.Errorf("%s: got left out %v; want %v", url, got, want)
			}
		}
	}
}

// TestLinksDigest: pages have one digest if their links lead to the same places.
func TestLinksDigest(t *testing.T) {
	seen := map[uint64]string{}
	for _, same := range [][]string{
		{`<a href="/x">`, `<A class=y HREF = ' /x#z '>`, `<area href=/x>`, "<p><a\nhref=/x\nid=1></a><a href='/x#2'>", `<a title="href=" href="/x"><abbr href=/y><b href=/z>`, `<a href="/x`},
		{`<a href="/y">`, `<a data-href="/x" href="/y">`, `<a href href=/y>`},
		{`<a href="/x"><a href="/y">`, `<article><a href="/y"><a href="/x"><a href="/x">`},
		{`<a data-to="/x">`}, {`<a data-to="/y">`}, {`<a href>`}, {"", "<", "<a", "<p>", "<article href=/x>"},
	} {
		of := linksDigest([]byte(same[0]))
		for _, page := range same {
			if got := linksDigest([]byte(page)); got != of || got == 0 {
				t.Errorf("%q and %q: got %x and %x; want one digest", same[0], page, of, got)
			}
			if seen[of] != "" && seen[of] != same[0] {
				t.Errorf("%q and %q: got one digest", seen[of], page)
			}
			seen[of] = same[0]
		}
	}
}

// TestUnlistedWithoutLinks: a caller that reports canonical links alone gets no copies left out.
func TestUnlistedWithoutLinks(t *testing.T) {
	var u Unlisted
	for i := range 2 * enoughBelow {
		page := fmt.Sprintf("http://a.example/%d", i)
		u.Fetched(page, Page{Canonical: page})
		u.Fetched(page+"?x=1", Page{Canonical: page})
	}
	if u.Exclude("http://a.example/1?x=2") {
		t.Error("a URL is left out whose links nobody compared")
	}
}

// TestUnlistedBound: kinds that find no room keep their pages, and those that did are left out.
func TestUnlistedBound(t *testing.T) {
	var u Unlisted
	word := func(i int) string { return strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%017b", i)) }
	for i := range maxKinds + 1 {
		for n := range enoughWith {
			u.Fetched("http://a.example/w?x="+word(i)+strings.Repeat("/", n), Page{Unlisted: true})
		}
	}
	if first, last := u.Exclude("http://a.example/w?x="+word(0)), u.Exclude("http://a.example/w?x="+word(maxKinds)); !first || last || len(u.kinds) != maxKinds {
		t.Errorf("got first %v, last %v, %d kinds; want the first alone left out, %d kinds", first, last, len(u.kinds), maxKinds)
	}
}

// TestOfUnlisted: a response is unlisted if it asks for noindex and nofollow, in whatever way.
func TestOfUnlisted(t *testing.T) {
	for _, c := range []struct {
		header []string
		head   string
		want   bool
	}{
		{nil, `<meta name="robots" content="noindex,nofollow">`, true},
		{nil, `<META NAME=Robots CONTENT=" NOFOLLOW , noindex ">`, true},
		{nil, `<meta name=robots content=none><link rel=canonical href="data:x">`, true},
		{nil, `<meta name=robots content=noindex><meta name=robots content=nofollow>`, true},
		{[]string{"noindex"}, `<meta name=robots content="nofollow">`, true},
		{[]string{"noarchive, none"}, "", true},
		{[]string{"otherbot: none", "noindex"}, "", false},
		{[]string{"noindex, otherbot: nofollow, noarchive"}, "", false},
		{[]string{"noindex, otherbot : nofollow"}, "", false},
		{[]string{"unavailable_after: Wednesday, 25-Jun-27 15:00:00 GMT, nofollow"}, `<meta name=robots content="max-image-preview:large, noindex, follow">`, true},
		{nil, `<meta name=robots content="index,nofollow">`, false},
		{nil, `<meta name=robots content="noindex,follow">`, false},
		{nil, `<meta name=googlebot content="none">`, false},
		{nil, `<title>x</title><p><meta name=robots content=none>`, false},
		{nil, "", false},
	} {
		header := map[string][]string{"content-type": {"text/html"}, "x-robots-tag": c.header}
		if got := Of(testPage, header, []byte(c.head)); got.Unlisted != c.want {
			t.Errorf("%q, %s: got %v; want %v", c.header, c.head, got.Unlisted, c.want)
		}
	}
}
