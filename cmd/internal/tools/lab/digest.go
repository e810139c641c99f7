package main

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"strings"

	"github.com/firstseen/firstseen/frontier/declared"
)

// digest is what a fetcher reports of a page's content.
type digest func(body []byte) string

// ofBytes is what fetchers report today.
func ofBytes(body []byte) string { return fmt.Sprintf("sha1:%x", sha1.Sum(body)) }

// ofText is what a visitor sees.
func ofText(body []byte) string { return declared.Digest("text/html", body) }

// digests print how many pages are the same twice in a row, by what is compared, and how many pairs of
// objects would be one. A digest that is never the same says nothing of duplicates, and one that is the same for
// two objects would merge them.
func (l *lab) digests(rec *recording, t *truth) {
	kinds := []struct {
		name string
		of   func([]byte) string
	}{
		{"the bytes", func(b []byte) string { return string(b) }},
		{"what a visitor sees", ofText},
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
