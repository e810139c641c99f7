package audit

import (
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/canon"
)

// Form is one way to write URLs whose merges are judged: a rule, or a set of rules.
type Form struct {
	Name string
	Kind Kind
	// append appends the form of a URL; a URL without a form is one of its own.
	append func(dst, url []byte) ([]byte, error)
	// alone, if not 0, numbers the rule that must be the only one to change a
	// URL, as soleRules does; other URLs stay as found.
	alone uint8
	// base is the form whose merges don't count, because they are there
	// anyway; nil is the URL as found.
	base *Form
	// declared, if not 0, are the declarations of the sites that make the form.
	declared int
}

// Kind is the meaning of a Form.
type Kind string

// The kinds of a Form.
const (
	Always   Kind = "always" // part of every canonical form; alone, on the URL as found
	Optional Kind = "rule"   // can be switched; judged on top of the rules that are always on
	OnlyHere Kind = "audit"  // exists for comparison only
	BySite   Kind = "site"   // what the sites declare, on top of the default rules
	RuleSet  Kind = "set"    // a profile, or several rules together
)

// eager is the set of rules for a crawler that would rather lose a page than fetch it twice.
var eager = []canon.Rule{canon.StripTrackingParams, canon.StripSessionIDs, canon.FoldHTTPS, canon.StripWWW,
	canon.StripIndex, canon.StripTrailingSlash, canon.DropEmptyParams}

// Forms returns what an audit judges: each rule of canon, the sets to compare
// with, and the profile asked for.
func Forms(profile *canon.Profile) ([]Form, error) {
	bare, err := barest()
	if err != nil {
		return nil, err
	}
	base := &Form{Name: "always", Kind: RuleSet, append: bare.AppendCanonical}
	var forms []Form
	for i, r := range canon.AllRules() {
		f, err := formOf(i, r, bare, base)
		if err != nil {
			return nil, err
		}
		if f != nil {
			forms = append(forms, *f)
		}
	}
	all, err := canon.Qiita().With(canon.Enable(eager...))
	if err != nil {
		return nil, fmt.Errorf("cannot make the eager set: %w", err)
	}
	return append(forms, *base,
		Form{Name: "profile " + profile.String(), Kind: RuleSet, append: profile.AppendCanonical},
		Form{Name: "eager", Kind: RuleSet, append: all.AppendCanonical},
		Form{Name: "surt", Kind: OnlyHere, append: canon.SURT().AppendCanonical}), nil
}

// barest is the profile with every rule off that can be.
func barest() (*canon.Profile, error) {
	p := canon.Qiita()
	var off []canon.Rule
	for _, r := range p.Rules() {
		if r.Optional {
			off = append(off, r.Rule)
		}
	}
	bare, err := p.With(canon.Disable(off...))
	if err != nil {
		return nil, fmt.Errorf("cannot switch every rule off: %w", err)
	}
	return bare, nil
}

// DropHashbang is the name of what drop-fragment merges, and wouldn't with keep-hashbang.
const DropHashbang = "drop-fragment of #!"

// DropsHashbang reports whether a profile drops such fragments.
func DropsHashbang(p *canon.Profile) bool {
	on := func(rule canon.Rule) bool {
		return slices.ContainsFunc(p.Rules(), func(r canon.RuleInfo) bool { return r.Optional && r.Rule == rule })
	}
	return on(canon.DropFragment) && !on(canon.KeepHashbang)
}

// formOf returns the form of one rule, or nil for rules that need a file. i is the rule's place among all.
func formOf(i int, r canon.RuleInfo, bare *canon.Profile, base *Form) (*Form, error) {
	switch {
	case r.Rule == canon.ScopedParams || r.Rule == canon.ScopedRules:
		return nil, nil
	case !r.Optional:
		return &Form{Name: string(r.Rule), Kind: Always, alone: uint8(i + 1), append: bare.AppendCanonical}, nil
	}
	name, on, below := string(r.Rule), []canon.Rule{r.Rule}, []canon.Rule(nil)
	switch r.Rule {
	case canon.SortValues: // it orders what sort-query has put together: judged on top of that
		on, below = []canon.Rule{canon.SortQuery, r.Rule}, []canon.Rule{canon.SortQuery}
	case canon.KeepHashbang: // it merges nothing: what drop-fragment merges without it is judged
		name, on, below = DropHashbang, []canon.Rule{canon.DropFragment}, []canon.Rule{canon.DropFragment, r.Rule}
	}
	p, err := bare.With(canon.Enable(on...))
	if err != nil {
		return nil, fmt.Errorf("cannot judge rule %s: %w", r.Rule, err)
	}
	if below != nil {
		p, err := bare.With(canon.Enable(below...))
		if err != nil {
			return nil, fmt.Errorf("cannot judge rule %s: %w", r.Rule, err)
		}
		base = &Form{append: p.AppendCanonical}
	}
	kind := Optional
	if r.Rule == canon.LowercasePath || r.Rule == canon.DropQuery {
		kind = OnlyHere
	}
	return &Form{Name: name, Kind: kind, append: p.AppendCanonical, base: base}, nil
}

// of appends the form of a URL of the log.
func (f *Form) of(x *index, dst []byte, id uint32) ([]byte, error) {
	if f.declared != 0 {
		return x.appendDeclared(dst, id, f)
	}
	url := x.urls.at(id)
	if f.alone != 0 && x.soleRules()[id] != f.alone {
		return append(dst, url...), nil
	}
	return f.append(dst, url)
}

// soleRules returns for each URL the rule that alone makes it canonical when
// nothing is switched on: its place among canon.AllRules, from 1; 0 where none
// or several do. Most URLs are canonical
// as they are, so few must be explained, and each once for all rules.
func (x *index) soleRules() []uint8 {
	x.sole.Do(func() {
		x.soleRule = make([]uint8, x.urls.len())
		bare, err := barest()
		if err != nil {
			return // Forms has returned this error before
		}
		all := canon.AllRules()
		x.eachURL(func() func(id uint32) {
			var buf []byte
			return func(id uint32) { buf = x.findSole(bare, all, buf, id) }
		})
	})
	return x.soleRule
}

func (x *index) findSole(bare *canon.Profile, all []canon.RuleInfo, buf []byte, id uint32) []byte {
	url := x.urls.at(id)
	form, err := bare.AppendCanonical(buf[:0], url)
	if err != nil || string(form) == string(url) {
		return form
	}
	e, err := bare.Explain(string(url))
	if err != nil {
		return form
	}
	sole := e.Steps[0].Rule
	if !slices.ContainsFunc(e.Steps, func(s canon.Step) bool { return s.Rule != sole }) {
		x.soleRule[id] = uint8(1 + slices.IndexFunc(all, func(r canon.RuleInfo) bool { return r.Rule == sole }))
	}
	return form
}
