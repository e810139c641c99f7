package declared

import (
	"strings"
	"testing"
)

const testPage = "https://example.com/dir/page?a=1"

func TestHTMLCanonical(t *testing.T) {
	utf16 := func(s string) string {
		b := "\xfe\xff"
		for _, r := range s {
			b += string([]byte{byte(r >> 8), byte(r)})
		}
		return b
	}
	for name, c := range map[string]struct{ contentType, body, want, refused string }{
		"absolute":         {"", `<html><head><link rel="canonical" href="https://example.com/x">`, "https://example.com/x", ""},
		"relative":         {"", `<link rel=canonical href=page>`, "https://example.com/dir/page", ""},
		"base":             {"", `<base href="/other/"><link rel="Canonical" href="page">`, "https://example.com/other/page", ""},
		"base behind":      {"", `<link rel=canonical href=page><base href=/b/><base href=/c/>`, "https://example.com/b/page", ""},
		"several words":    {"", `<LINK REL="shortlink  CANONICAL" HREF=" /x ">`, "https://example.com/x", ""},
		"entities":         {"", `<link rel=canonical href="/x?a=1&amp;b=2">`, "https://example.com/x?a=1&b=2", ""},
		"fragment":         {"", `<link rel=canonical href="/x#top">`, "https://example.com/x", ""},
		"twice the same":   {"", `<link rel=canonical href="/x"><link rel=canonical href="https://EXAMPLE.com/x">`, "https://example.com/x", ""},
		"none":             {"", `<link rel=stylesheet href=/x>`, "", ""},
		"empty page":       {"", "", "", ""},
		"in the body":      {"", `<head></head><body><link rel=canonical href=/x>`, "", ""},
		"after the head":   {"", `<title>x</title><p>hello<link rel=canonical href=/x>`, "", ""},
		"in a comment":     {"", `<!-- <link rel=canonical href=/x> -->`, "", ""},
		"in a script":      {"", `<script>"<link rel=canonical href=/x>"</script>`, "", ""},
		"in a title":       {"", `<title><link rel=canonical href=/x></title>`, "", ""},
		"in a template":    {"", `<template><link rel=canonical href=/x></template><link rel=canonical href=/y>`, "https://example.com/y", ""},
		"an alternative":   {"", `<link rel=canonical hreflang=de href=/x><link rel=canonical media=print href=/y>`, "", ""},
		"UTF-16":           {"", utf16(`<link rel=canonical href="/ü">`), "https://example.com/%C3%BC", ""},
		"windows-1251":     {"text/html; charset=windows-1251", "<link rel=canonical href='/\xff'>", "https://example.com/%D1%8F", ""},
		"meta":             {"", "<meta charset=windows-1251><link rel=canonical href='/\xff'>", "https://example.com/%D1%8F", ""},
		"several":          {"", `<link rel=canonical href=/x><link rel=canonical href=/y>`, "", "name both"},
		"empty":            {"", `<link rel=canonical href="">`, "", "empty"},
		"another scheme":   {"", `<link rel=canonical href="javascript:x">`, "", "scheme"},
		"broken":           {"", `<link rel=canonical href="http://[x/">`, "", "cannot use"},
		"broken base":      {"", `<base href="data:x"><link rel=canonical href=/x>`, "", "base"},
		"long":             {"", `<link rel=canonical href="/` + strings.Repeat("x", maxURL) + `">`, "", "bytes"},
		"beyond the bound": {"", strings.Repeat(" ", MaxHTML) + `<link rel=canonical href=/x>`, "", ""},
	} {
		got, err := HTMLCanonical(testPage, c.contentType, []byte(c.body))
		if got != c.want || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: got %q, %v; want %q, an error with %q", name, got, err, c.want, c.refused)
		}
	}
}

func TestLinkCanonical(t *testing.T) {
	for _, c := range []struct {
		fields  []string
		want    string
		refused bool
	}{
		{[]string{`<https://example.com/x>; rel="canonical"`}, "https://example.com/x", false},
		{[]string{`</a,b;c>;REL=Canonical`}, "https://example.com/a,b;c", false},
		{[]string{`</s.css>; rel=preload; as="a,b;c", <x>; title="\"rel=canonical\"" ; rel="self canonical"; rel=next`}, "https://example.com/dir/x", false},
		{[]string{`</p>; rel=prev`, `</x>; rel=canonical`}, "https://example.com/x", false},
		{[]string{`</x>; rel=next; rel=canonical`}, "", false},
		{[]string{`</x>; rel=canonical; anchor="/y"`}, "", false},
		{[]string{`</x; rel=canonical`, `x; rel=canonical`, ``}, "", false},
		{[]string{`</x>; rel=canonical, </y>; rel=canonical`}, "", true},
	} {
		if got, err := LinkCanonical(testPage, c.fields...); got != c.want || (err != nil) != c.refused {
			t.Errorf("%q: got %q, %v; want %q, refused %t", c.fields, got, err, c.want, c.refused)
		}
	}
}

func TestOf(t *testing.T) {
	header := map[string][]string{"content-type": {"text/html"}, "no-vary-search": {`params=("b" "a")`}, "LINK": {`</x>; rel=canonical`}}
	p := Of(testPage, header, []byte(`<link rel=canonical href=/x>`))
	if p.Canonical != "https://example.com/x" || p.NoVarySearch != `params=("a" "b")` || p.Refused != nil {
		t.Errorf("got %+v", p)
	}
	p = Of(testPage, header, []byte(`<link rel=canonical href=/y>`))
	if p.Canonical != "" || p.Refused == nil || !strings.Contains(p.Refused.Error(), "the Link header names") {
		t.Errorf("got %+v; want what contradicts itself refused", p)
	}
	p = Of("https://example.com/robots.txt", map[string][]string{"Content-Type": {"text/plain"}}, []byte("Clean-param: a /x\n"))
	if p.CleanParam != "a /x" {
		t.Errorf("got %+v; want the line of the robots.txt", p)
	}
	if p = Of(testPage, map[string][]string{"Content-Type": {"text/plain"}}, []byte("<link rel=canonical href=/y>\nClean-param: a")); p.Canonical != "" || p.CleanParam != "" {
		t.Errorf("got %+v; want nothing of a text", p)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(testPage, "text/html; charset=utf-16", `</x>; rel="canonical"`, []byte("<base href=/x><link rel=canonical href=y>"))
	f.Add("https://example.com/robots.txt", "", "", []byte("Clean-param: a"))
	f.Fuzz(func(t *testing.T, page, contentType, link string, body []byte) {
		p := Of(page, map[string][]string{"Content-Type": {contentType, "text/html"}, "Link": {link}}, body)
		if p.Canonical == "" {
			return
		}
		again, err := resolve(page, p.Canonical)
		if err != nil || again != p.Canonical {
			t.Errorf("got canonical %q, which resolves to %q, %v", p.Canonical, again, err)
		}
	})
}
