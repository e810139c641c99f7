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
		for _, rule := range x.declared.clean[hostName(canon.Host(dst[at:]))] {
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
