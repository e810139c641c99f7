package main

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"github.com/firstseen/firstseen/frontier/declared"
)

// digest is what a fetcher reports of a page's content.
type digest func(body []byte) string

// ofBytes is what fetchers report today.
func ofBytes(body []byte) string { return fmt.Sprintf("sha1:%x", sha1.Sum(body)) }

// ofText is what a visitor sees.
func ofText(body []byte) string { return declared.Digest("text/html", body) }

// ofMasked is what a visitor reads but for numbers: times, counters, dates.
func ofMasked(body []byte) string { return ofBytes([]byte(digits.ReplaceAllString(text(body), "0"))) }

// digests print how many pages are the same twice in a row, by what is compared, and how many pairs of
// objects would be one. A digest that is never the same says nothing of duplicates, and one that is the same for
// two objects would merge them.
func (l *lab) digests(rec *recording, t *truth) {
	kinds := []struct {
		name string
		of   func([]byte) string
	}{
		{"the bytes", func(b []byte) string { return string(b) }},
		{"digits masked", func(b []byte) string { return string(digits.ReplaceAll(b, []byte("0"))) }},
		{"what a visitor sees", ofText},
		{"the text, digits masked", ofMasked},
	}
	fmt.Fprintf(l.out, "\n| compared | pages | asked twice | the same then | contents | again an object, same content as before | other pages, same content as an object | pairs of objects with one content |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, k := range kinds {
		pages, twice, same, repeats, others, merged := 0, 0, 0, 0, 0, 0
		objects := map[string]string{} // the object that first had a content
		contents := map[string]bool{}
		rec.mu.Lock()
		for u, a := range rec.answers {
			if a.Status != http.StatusOK || !strings.Contains(a.Header.Get("Content-Type"), "html") {
				continue
			}
			pages++
			digest := k.of(a.Body)
			if !a.Once {
				twice++
				if a.Second == nil || k.of(a.Second) == digest {
					same++
				}
			}
			contents[digest] = true
			object := t.shows(u)
			switch first, ok := objects[digest]; {
			case !ok:
				objects[digest] = object
			case first == object && object != "":
				repeats++
			case first != "" && object != "":
				merged++
			case first != "" || object != "":
				others++
			}
		}
		rec.mu.Unlock()
		fmt.Fprintf(l.out, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", k.name, pages, twice, same, len(contents), repeats, others, merged)
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// text returns what a visitor reads on a page.
func text(page []byte) string {
	var b strings.Builder
	skip := 0
	for z := html.NewTokenizer(bytes.NewReader(page)); ; {
		kind := z.Next()
		name, _ := z.TagName()
		hidden := string(name) == "script" || string(name) == "style"
		switch kind {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			if hidden {
				skip++
			}
		case html.EndTagToken:
			if hidden {
				skip--
			}
		case html.TextToken:
			if skip == 0 {
				for w := range strings.FieldsSeq(string(z.Text())) {
					b.WriteString(w)
					b.WriteByte(' ')
				}
			}
		}
	}
}
