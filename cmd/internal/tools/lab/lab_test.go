package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJudge: each kind of fetch, on a site that can be seen whole.
func TestJudge(t *testing.T) {
	page := func(body string) *answer {
		return &answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(body)}
	}
	rec := &recording{linked: map[string][]link{}, answers: map[string]*answer{
		"http://x.lab/":      page(`<a href="/list">l</a><a href="/about">a</a><a href="/a?v=2">v</a><link href="/style.css">`),
		"http://x.lab/list":  page(`<a href="/">up, to a page that no page before linked to</a><base href="/sub/"><a href="../go#top">g</a><a href='../a'>a</a>`),
		"http://x.lab/go":    {Status: http.StatusFound, Header: http.Header{"Location": {"b"}}},
		"http://x.lab/b":     page(`<a href="/gone">g</a>`),
		"http://x.lab/a":     page(``),
		"http://x.lab/a?v=2": page(``),
		"http://x.lab/about": page(``),
		"http://x.lab/gone":  {Status: http.StatusNotFound},
	}}
	objects := &truth{shown: map[string]string{"http://x.lab/a": "a", "http://x.lab/a?v=2": "a", "http://x.lab/b": "b"}}
	rec.answers["http://x.lab/robots.txt"] = rec.answers["http://x.lab/gone"]
	log := []string{"http://x.lab/robots.txt", "http://x.lab/", "http://x.lab/list", "http://x.lab/about", "http://x.lab/a?v=2", "http://x.lab/go", "http://x.lab/a", "http://x.lab/b", "http://x.lab/gone"}
	for u := range rec.answers {
		objects.shown[u] += "" // the others show none
	}
	r := judge("test", rec, objects, log, 100)
	got := map[string]string{}
	for i, u := range log {
		got[u] = kindNames[r.kinds[i]]
	}
	want := map[string]string{
		"http://x.lab/robots.txt": "error", "http://x.lab/": "led", "http://x.lab/list": "led", "http://x.lab/about": "barren", "http://x.lab/a?v=2": "new", "http://x.lab/go": "redirect",
		"http://x.lab/a": "again", "http://x.lab/b": "new", "http://x.lab/gone": "error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := r.until(2, 0.5); n != 5 {
		t.Errorf("got half of the objects after %d fetches; want 5", n)
	}
	if n := r.until(2, 0.99); n != 8 {
		t.Errorf("got all objects after %d fetches; want 8", n)
	}
	if n := r.until(3, 0.99); n != 0 {
		t.Errorf("got an object that is not there after %d fetches", n)
	}
}

// TestUnlistedWiki: of the forms of a wiki some are fetched, of its index, which has the only link to a page, and of its pages all.
func TestUnlistedWiki(t *testing.T) {
	rec := &recording{linked: map[string][]link{}, answers: map[string]*answer{}}
	const wiki = "http://x.lab/wiki?"
	page := func(query, head string, links ...string) {
		for i, l := range links {
			links[i] = fmt.Sprintf("<a href=%q>l</a>", wiki+l)
		}
		rec.answers[wiki+query] = &answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(head + strings.Join(links, ""))}
	}
	const pages, none = 24, `<meta name=robots content="noindex,nofollow">`
	for i := range pages {
		name := fmt.Sprintf("t=%cpage", 'A'+i)
		page(name, "", fmt.Sprintf("t=%cpage", 'A'+(i+1)%pages), "do=edit&"+name, "do=history&"+name, "do=index&"+name)
		page("do=edit&"+name, none)
		page("do=history&"+name, none, "do=diff&"+name, "do=edit&rev=1&"+name)
		page("do=diff&"+name, none)
		page("do=edit&rev=1&"+name, none)
		page("do=index&"+name, "", "t=Orphan")
	}
	page("t=Orphan", "")
	r := &run{rec: rec}
	if err := (&ours{}).crawl(t.Context(), nil, r, wiki+"t=Apage", 1e6); err != nil {
		t.Fatal(err)
	}
	fetched := map[string]int{}
	for _, u := range r.log {
		u = strings.TrimPrefix(u, wiki)
		kind, _, _ := strings.Cut(u, "&")
		if !strings.HasPrefix(u, "do=") {
			kind = "pages"
		}
		fetched[kind]++
	}
	if diff := cmp.Diff(map[string]int{"pages": pages + 1, "do=index": pages, "do=edit": 3, "do=history": 3, "do=diff": 3}, fetched); diff != "" {
		t.Error(diff)
	}
}

// TestCrawlOfARecording: a small cgit, recorded by this program: see README.md. Whatever is switched on, no object may be lost.
func TestCrawlOfARecording(t *testing.T) {
	rec, err := openRecording("testdata/cgit.recording")
	if err != nil {
		t.Fatal(err)
	}
	a := &apps[slices.IndexFunc(apps, func(a app) bool { return a.name == "cgit" })]
	objects, err := readTruth(a, "testdata/cgit.truth.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*ours{
		"as it comes": {}, "traps by yield": {yield: true, digest: ofText}, "breadth first": {breadth: true},
	} {
		r := &run{rec: rec}
		if err := o.crawl(t.Context(), nil, r, a.seed(), 1e6); err != nil {
			t.Fatal(name, err)
		}
		got := judge(name, rec, objects, r.log, 1e6)
		if len(got.objects) != len(objects.markers) || len(got.objects) == 0 {
			t.Errorf("%s: got %d objects; want %d", name, len(got.objects), len(objects.markers))
		}
		if len(r.log) != len(rec.answers) {
			t.Errorf("%s: got %d fetches; want each of the %d URLs once", name, len(r.log), len(rec.answers))
		}
	}
}
