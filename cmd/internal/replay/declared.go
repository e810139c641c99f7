package replay

import (
	"bytes"
	"hash/maphash"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/declares"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier/declared"
)

// Declared is what a crawler would have saved, and what it would have lost, if it had believed
// all declarations of all sites from the moment it received them.
type Declared struct {
	Fetches int64 `json:"fetches"`  // distinct canonical forms that were fetched
	LeftOut int64 `json:"left_out"` // of them, those that found no room in memory
	// Sources are the ways to declare, and all of them together. Ways that nothing was declared in
	// are left out.
	Sources []DeclaredSource `json:"sources"`
}

// DeclaredSource is one way to declare. Same + Different + Unknown = Saved + After.
type DeclaredSource struct {
	Source string `json:"source"`
	// URLs are the canonical forms that the declarations lead from to another form.
	URLs int64 `json:"urls"`
	// Saved are fetches that would not have happened: the form was known by declarations.
	Saved int64 `json:"saved"`
	// After are duplicates that only their own fetch would have shown.
	After int64 `json:"known_after_fetch"`
	// The contents of both pages, by their digests.
	Same      int64 `json:"same"`
	Different int64 `json:"different"`
	Unknown   int64 `json:"unknown"` // a page has no digest
	// Wrong are the first pairs with different contents.
	Wrong []WrongPair `json:"wrong,omitempty"`
}

// WrongPair is two URLs that are declared to be one page, and had different contents.
type WrongPair struct {
	URL   string `json:"url"`
	Known string `json:"known"` // fetched before it
}

const (
	declaredMemory = 256 << 20 // bytes
	declaredPage   = 400       // of a page, beside its URL and digest, at most
	mostWrong      = 5
)

// declarations replays fetches once for each way to declare.
type declarations struct {
	profile *canon.Profile
	seed    maphash.Seed
	memory  int
	result  Declared
	pages   map[uint64]struct{} // by canonical form
	search  map[string]declared.Search
	clean   map[string][]declared.CleanParam // by host
	ways    []*declaredWay
}

// declaredWay is a crawl that believes some declarations.
type declaredWay struct {
	DeclaredSource
	canonical, search, clean bool
	known                    map[uint64]*declaredPageOf // by form
}

type declaredPageOf struct{ url, digest string }

func newDeclarations(p *canon.Profile) *declarations {
	d := &declarations{profile: p, seed: maphash.MakeSeed(), memory: declaredMemory, pages: map[uint64]struct{}{},
		search: map[string]declared.Search{}, clean: map[string][]declared.CleanParam{}}
	for _, w := range []declaredWay{
		{DeclaredSource: DeclaredSource{Source: "rel=canonical"}, canonical: true},
		{DeclaredSource: DeclaredSource{Source: "No-Vary-Search"}, search: true},
		{DeclaredSource: DeclaredSource{Source: "Clean-param"}, clean: true},
		{DeclaredSource: DeclaredSource{Source: "all declarations"}, canonical: true, search: true, clean: true},
	} {
		w.known = map[uint64]*declaredPageOf{}
		d.ways = append(d.ways, &w)
	}
	return d
}

// add takes the next fetch.
func (d *declarations) add(f *logs.Record) {
	form, err := d.profile.AppendCanonical(nil, []byte(f.URL))
	if err != nil {
		return
	}
	hash := d.hash(form)
	if _, ok := d.pages[hash]; ok { // a duplicate without any declaration
		d.learn(form, f)
		return
	}
	d.result.Fetches++
	if !d.takes(len(f.URL) + len(f.Digest) + declaredPage) {
		d.result.LeftOut++
		return
	}
	d.pages[hash] = struct{}{}
	before := make([][]byte, len(d.ways))
	for i, w := range d.ways {
		before[i] = d.lead(w, form)
	}
	d.learn(form, f)
	target := d.target(form, f.Canonical)
	page := &declaredPageOf{strings.Clone(f.URL), strings.Clone(f.Digest)}
	for i, w := range d.ways {
		to := form
		if w.canonical {
			to = target
		}
		w.fetch(d, page, form, before[i], d.lead(w, to))
	}
}

// fetch takes a page whose form led to the form before until it was fetched, and to the form after
// since.
func (w *declaredWay) fetch(d *declarations, page *declaredPageOf, form, before, after []byte) {
	if !bytes.Equal(form, before) || !bytes.Equal(form, after) {
		w.URLs++
	}
	if known := w.known[d.hash(before)]; known != nil {
		w.Saved++
		w.compare(page, known)
		return
	}
	w.known[d.hash(before)] = page
	if known := w.known[d.hash(after)]; known == nil {
		w.known[d.hash(after)] = page
	} else if known != page {
		w.After++
		w.compare(page, known)
	}
}

func (w *declaredWay) compare(page, known *declaredPageOf) {
	switch {
	case page.digest == "" || known.digest == "":
		w.Unknown++
	case page.digest == known.digest:
		w.Same++
	default:
		if w.Different++; len(w.Wrong) < mostWrong {
			w.Wrong = append(w.Wrong, WrongPair{excerpt([]byte(page.url)), excerpt([]byte(known.url))})
		}
	}
}

// learn notes the rules that a response declares.
func (d *declarations) learn(form []byte, f *logs.Record) {
	if f.NoVarySearch != "" && d.takes(len(form)+len(f.NoVarySearch)+declaredPage) {
		if s, err := declared.ParseNoVarySearch(f.NoVarySearch); err == nil {
			d.search[pathOf(form)] = s
		}
	}
	if f.CleanParam != "" && declared.IsRobots(f.URL) && d.takes(2*len(f.CleanParam)+declaredPage) {
		var rules []declared.CleanParam
		for line := range strings.SplitSeq(f.CleanParam, "\n") {
			if rule, err := declared.ParseCleanParam(line); err == nil {
				rules = append(rules, rule)
			}
		}
		d.clean[string(canon.Host(form))] = rules
	}
}

// lead returns the form that the rules a way believes make of a form.
func (d *declarations) lead(w *declaredWay, form []byte) []byte {
	var search *declared.Search
	if s, ok := d.search[pathOf(form)]; ok && w.search {
		search = &s
	}
	var clean []declared.CleanParam
	if w.clean {
		clean = d.clean[string(canon.Host(form))]
	}
	if ignored := declares.Ignored(form, search, clean); ignored != nil {
		return declares.AppendWithout(nil, form, ignored)
	}
	return form
}

// target returns the form that a canonical link names, or else the form itself.
func (d *declarations) target(form []byte, link string) []byte {
	if link == "" {
		return form
	}
	to, err := d.profile.AppendCanonical(nil, []byte(link))
	if err != nil {
		return form
	}
	return to
}

// takes takes memory, if there is still so much.
func (d *declarations) takes(n int) bool {
	if n > d.memory {
		return false
	}
	d.memory -= n
	return true
}

func (d *declarations) hash(form []byte) uint64 { return maphash.Bytes(d.seed, form) }

// pathOf returns host, port and path of a canonical form.
func pathOf(form []byte) string {
	_, rest, _ := bytes.Cut(form, []byte("://"))
	path, _, _ := bytes.Cut(rest, []byte{'?'})
	return string(path)
}

func (d *declarations) sum() *Declared {
	d.result.Sources = []DeclaredSource{}
	for _, w := range d.ways {
		if w.URLs > 0 {
			d.result.Sources = append(d.result.Sources, w.DeclaredSource)
		}
	}
	return &d.result
}
