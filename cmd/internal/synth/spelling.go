package synth

import "github.com/firstseen/firstseen/canon"

// Rule names a way in which a spelling differs from its page's own, by the
// name of the canonicalization rule that undoes it.
type Rule uint8

// The rules, "" being the page's own spelling.
const (
	Own Rule = iota
	Fragment
	Scheme
	WWW
	TrailingSlash
	ParamOrder
	Tracking
	Index
	Session
	HostCase
	DefaultPort
	DotSegments
	DupSlashes
	Unreserved
	EscapeCase
	EmptyQuery
	EmptyParam
	NeutralParam
	MeaningfulParam
	numRules
)

// ruleInfo has the name of each rule, its weight among the variants (per mille, from real link
// streams), and the share of hosts where it does not hold.
var ruleInfo = [numRules]struct {
	name   canon.Rule
	weight int
	wrong  float64
}{
	Own:           {"own", 0, 0},
	Fragment:      {canon.DropFragment, 450, 0},
	Scheme:        {canon.FoldHTTPS, 150, 0.136},
	WWW:           {canon.StripWWW, 100, 0.05},
	TrailingSlash: {canon.StripTrailingSlash, 60, 0.3},
	ParamOrder:    {canon.SortQuery, 60, 0.01},
	Tracking:      {canon.StripTrackingParams, 50, 0.02},
	Index:         {canon.StripIndex, 40, 0.15},
	Session:       {canon.StripSessionIDs, 20, 0.03},
	HostCase:      {canon.LowercaseHost, 10, 0},
	DefaultPort:   {canon.DefaultPort, 10, 0},
	DotSegments:   {canon.DotSegments, 10, 0},
	DupSlashes:    {canon.CollapseSlashes, 10, 0.4},
	Unreserved:    {canon.DecodeUnreserved, 10, 0},
	EscapeCase:    {canon.UppercaseEscapes, 5, 0},
	EmptyQuery:    {canon.DropEmptyQuery, 10, 0},
	EmptyParam:    {canon.DropEmptyParams, 5, 0.1},

	NeutralParam:    {"neutral-param", 0, 0},
	MeaningfulParam: {"meaningful-param", 0, 0},
}

// String returns the name of the canonicalization rule.
func (r Rule) String() string { return string(ruleInfo[r].name) }

// pickRule chooses a variant by weight, of those that a capture can have: none with a fragment.
func pickRule(h uint64) Rule {
	n := int(h % 550)
	for r := Scheme; r < numRules; r++ {
		if n -= ruleInfo[r].weight; n < 0 {
			return r
		}
	}
	return Scheme
}

// holds reports whether a rule holds for a page: whether the variant leads to the same page.
func (w *Web) holds(p page, r Rule) bool {
	if unit(w.hash(tagHolds, uint64(p.host), uint64(r))) < ruleInfo[r].wrong {
		return r == TrailingSlash && w.section(p)
	}
	if ruleInfo[r].wrong == 0 {
		return true // undone by RFC 3986 alone
	}
	h := w.hash(tagTwin, p.id(), 0)
	return unit(h) >= twin || Rule(again(h)%uint64(numRules)) != r
}

// section reports whether a page is in a directory where a final slash makes no difference,
// although it does elsewhere on the host.
func (w *Web) section(p page) bool {
	return unit(w.hash(tagSection, uint64(p.host), 0)) < w.opt.Sections && w.text(p).style == dated
}

// redirects reports whether a variant by the rule redirects to the page's own URL.
func (w *Web) redirects(p page, r Rule) bool {
	switch r {
	case Scheme, WWW, TrailingSlash, Index:
		return unit(w.hash(tagRedirect, uint64(p.host), uint64(r))) < w.opt.Redirects && w.holds(p, r)
	}
	return false
}

// Spelling is one way to write a page's URL.
type Spelling struct {
	URL      []byte
	Identity uint64 // of the page that the URL leads to
	Rule     Rule   // by which it differs from the page's own spelling, or from its twin's
}

// spell appends a page's URL to s.URL[:0], spelled by the rule if it can be.
// salt varies the variants that have many forms.
func (w *Web) spell(s *Spelling, p page, r Rule, salt uint64) {
	t := w.text(p)
	if !t.can(r) {
		r = Own
	}
	s.Rule, s.Identity = r, w.identity(p, r)
	s.URL = t.append(s.URL[:0], r, salt)
}

// perPage is how many identities a page may have with its variants.
const perPage = uint64(numRules) + numParams*paramValues

// identity is the number of the page that a spelling of p leads to.
func (w *Web) identity(p page, r Rule) uint64 {
	id := p.id() * perPage
	if r != Own && !w.holds(p, r) {
		id += uint64(r)
	}
	return id
}
