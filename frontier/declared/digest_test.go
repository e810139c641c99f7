package declared

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"
)

// TestDigest: what a visitor sees counts, and nothing else.
func TestDigest(t *testing.T) {
	const text = `A page with more than twenty words, so that its text can stand for it: one two three four five six seven eight nine ten.`
	page := `<html><body><a href="/login">` + text + `</a><img src="http://img0.example/a.png"></body></html>`
	of := func(body string) string { return Digest("Text/HTML; charset=utf-8", []byte(body)) }
	bytes := func(body string) string { return fmt.Sprintf("sha1:%x", sha1.Sum([]byte(body))) }
	same := func(old, new string) string { return strings.Replace(page, old, new, 1) }
	for name, body := range map[string]string{
		"target of a link":     same("/login", "/login?returnto=x"),
		"script":               same("</body>", `<script>var t = "<b>now</b>" // 12:01</script></body>`),
		"style":                same("<html>", "<html><style>p { top: 3px }</style>"),
		"comment":              same("</body>", "<!-- served in 12 ms --></body>"),
		"token of a form":      same("</body>", `<form><input type=hidden name=t value=a81b></form></body>`),
		"white space":          same(" more ", "\n\t more \r\n"),
		"pixel":                same("</body>", `<img src="/count?1764215" width="2" height=1></body>`),
		"template":             same("</body>", `<template><p>unseen <script>1</script></template></body>`),
		"host of an image":     same("img0", "img2"),
		"fragment":             same("a.png", "a.png#secret=8wq"),
		"script within script": same("</body>", `<script>document.write("<style>")</script></body>`),
	} {
		if of(body) != of(page) {
			t.Errorf("%s: got another digest", name)
		}
	}
	for name, body := range map[string]string{
		"number": same("nine", "9"), "word": same("nine", "seven"), "image": same("a.png", "b.png"), "frame": same("</body>", `<iframe src="/x"></iframe></body>`),
		"order": same("one two", "two one"), "words joined": same("one two", "onetwo"), "after a script": same("</body>", "<script>1</script>more</body>"),
		"a style that is never closed": same("<html>", "<html><style>"),
	} {
		if of(body) == of(page) {
			t.Errorf("%s: got the same digest", name)
		}
	}
	for _, body := range []string{"", "<p>few words", `<script src="app.js"></script><div id="root"></div>`} {
		if got := of(body); got != bytes(body) {
			t.Errorf("got %s of %q; want that of its bytes", got, body)
		}
	}
	if got := Digest("application/json", []byte(page)); got != bytes(page) {
		t.Errorf("got %s of JSON; want that of its bytes", got)
	}
}
