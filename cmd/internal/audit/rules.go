package audit

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
)

// Form is one way to write URLs whose merges are judged: a rule, or a set of rules.
type Form struct {
	Name string
	Kind Kind
	// append appends the form of a URL; a URL without a form is one of its own.
	append func(dst, url []byte) ([]byte, error)
	// base is the form whose merges don't count, because they are there
	// anyway; nil is the URL as found.
	base *Form
}

// Kind says how a Form is meant.
type Kind string

// The kinds of a Form.
const (
	Always   Kind = "always" // part of every canonical form; alone, on the URL as found
	Optional Kind = "rule"   // can be switched; judged on top of the rules that are always on
	OnlyHere Kind = "audit"  // exists for comparison only
	RuleSet  Kind = "set"    // a profile, or several rules together
)

// eager is the set of rules that a crawler takes who would rather lose a page
// than fetch it twice.
var eager = []canon.Rule{canon.StripTracking, canon.StripSessionIDs, canon.FoldHTTPS, canon.StripWWW,
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
	for _, r := range canon.AllRules() {
		f, err := formOf(r, bare, base)
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

// formOf returns the form of one rule, or nil for rules that need a file or
// that only modify another one.
func formOf(r canon.RuleInfo, bare *canon.Profile, base *Form) (*Form, error) {
	switch {
	case r.Rule == canon.ScopedParams || r.Rule == canon.KeepHashbang:
		return nil, nil
	case !r.Optional:
		return &Form{Name: string(r.Rule), Kind: Always, append: alone(r.Rule, bare)}, nil
	}
	p, err := bare.With(canon.Enable(r.Rule))
	if err != nil {
		return nil, fmt.Errorf("cannot judge rule %s: %w", r.Rule, err)
	}
	kind := Optional
	if r.Rule == canon.LowercasePath || r.Rule == canon.DropQuery {
		kind = OnlyHere
	}
	return &Form{Name: string(r.Rule), Kind: kind, append: p.AppendCanonical, base: base}, nil
}

// alone is the form of URLs that this one rule makes canonical; others stay as
// they are. Most URLs are canonical, so the explanation is rarely asked for.
func alone(rule canon.Rule, bare *canon.Profile) func(dst, url []byte) ([]byte, error) {
	return func(dst, url []byte) ([]byte, error) {
		n := len(dst)
		dst, err := bare.AppendCanonical(dst, url)
		if err != nil || string(dst[n:]) == string(url) {
			return dst, err
		}
		e, err := bare.Explain(string(url))
		if err != nil {
			return dst[:n], err
		}
		for _, s := range e.Steps {
			if s.Rule != rule {
				return append(dst[:n], url...), nil
			}
		}
		return dst, nil
	}
}
