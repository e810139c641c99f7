package audit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
)

// declaredForms are the forms that declarations make of URLs, each way alone and together.
// They are judged on top of the default rules.
func declaredForms() []Form {
	p := canon.Qiita()
	base := &Form{append: p.AppendCanonical}
	var forms []Form
	for _, by := range []int{byCanonical, byNoVarySearch, byCleanParam, byAnything} {
		name := strings.Join(sourceNames(by), " + ")
		if by == byAnything {
			name = "all declarations"
		}
		forms = append(forms, Form{Name: name, Kind: BySite, append: p.AppendCanonical, base: base, declared: by})
	}
	return forms
}

// appendDeclared appends the form that the declarations of a URL make of it: the URL that its
// canonical link names, without the parameters that do not matter there.
func (x *index) appendDeclared(dst []byte, id uint32, f *Form) ([]byte, error) {
	d := x.declared.of[id]
	if f.declared&byCanonical != 0 && d.canonical != 0 && !d.wavers {
		id = d.canonical - 1
		d = x.declared.of[id]
	}
	at := len(dst)
	dst, err := f.append(dst, x.urls.at(id))
	if err != nil {
		return dst, err
	}
	var ways []func(name string) bool
	if f.declared&byNoVarySearch != 0 && d.search != 0 {
		ways = append(ways, x.declared.searches[d.search-1].Ignores)
	}
	if f.declared&byCleanParam != 0 && len(x.declared.clean) > 0 {
		_, rest, _ := bytes.Cut(dst[at:], []byte("://"))
		path := string(rest[max(0, bytes.IndexByte(rest, '/')):])
		for _, rule := range x.declared.clean[string(hostName(canon.Host(dst[at:])))] {
			if rule.Covers(path) {
				ways = append(ways, rule.Names)
			}
		}
	}
	front, query, ok := bytes.Cut(dst[at:], []byte{'?'})
	if len(ways) == 0 || !ok {
		return dst, nil
	}
	out, sep := dst[:at+len(front)], byte('?') // what is kept moves to the front
	for pair := range bytes.SplitSeq(query, []byte{'&'}) {
		name, _, _ := bytes.Cut(pair, []byte{'='})
		if !slices.ContainsFunc(ways, func(ignores func(string) bool) bool { return ignores(string(name)) }) {
			out = append(append(out, sep), pair...)
			sep = '&'
		}
	}
	return out, nil
}

// Said is what the sites declare of the URLs that a rule merges, beside what their contents
// say. A pair is declared to be one page if both URLs lead to one form, and two pages if
// each names itself, or another URL than the other one does.
type Said struct {
	OnePage  Contents   `json:"one_page"`
	TwoPages Contents   `json:"two_pages"`
	Against  []Conflict `json:"contradictions,omitempty"` // the first of them
}

// Contents counts pairs by their contents.
type Contents struct {
	Same      int `json:"same"` // or one redirects to the other
	Different int `json:"different"`
	Unknown   int `json:"unknown"` // not to be compared, or changed by itself
}

func (c *Contents) add(o Outcome) {
	switch o {
	case Same, Redirect:
		c.Same++
	case Different:
		c.Different++
	default:
		c.Unknown++
	}
}

// Conflict is a pair of URLs whose declarations contradict their contents.
type Conflict struct {
	A        string `json:"a"`
	B        string `json:"b"`
	Declared string `json:"declared"` // "one page" or "two pages"
	Content  string `json:"content"`  // "same" or "different"
}

// saidForms hold for each URL its own form and that of its declarations. nil says nothing.
type saidForms struct{ own, leads []uint64 }

// sayings prepares the comparison of declarations with contents, once for all rules.
func (x *index) sayings() *saidForms {
	if x.declared.none() {
		return nil
	}
	p, err := barest()
	if err != nil {
		return nil // Forms has returned this error before
	}
	return &saidForms{
		own:   x.forms(&Form{append: p.AppendCanonical}),
		leads: x.forms(&Form{append: p.AppendCanonical, declared: byAnything}),
	}
}

// hear counts what the declarations say of a pair that a rule merges.
func (s *saidForms) hear(x *index, v *Verdict, a, b uint32, o Outcome) {
	if s == nil || s.own[a] == s.own[b] {
		return
	}
	one := s.leads[a] == s.leads[b]
	if !one && (x.declared.of[a].canonical == 0 || x.declared.of[b].canonical == 0) {
		return
	}
	if v.Said == nil {
		v.Said = &Said{}
	}
	c := Conflict{A: string(x.urls.at(a)), B: string(x.urls.at(b)), Declared: "two pages", Content: "same"}
	counts := &v.Said.TwoPages
	if one {
		c.Declared, c.Content, counts = "one page", "different", &v.Said.OnePage
	}
	counts.add(o)
	against := o == Different
	if !one {
		against = o == Same || o == Redirect
	}
	if against && len(v.Said.Against) < examples {
		v.Said.Against = append(v.Said.Against, c)
	}
}
