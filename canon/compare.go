package canon

import "fmt"

// A Comparison reports whether two URLs are one under a profile, and by which rules.
type Comparison struct {
	A, B Explanation
	// Same reports whether the canonical forms are equal.
	Same bool
	// Rules are the rules that make A and B equal, in order. Under qiita the set is minimal:
	// without any one of its rules A and B differ. If at most 12 rules change A or B, it is also
	// the smallest such set. Under another profile it is all rules that changed A or B. Nil unless
	// Same; empty if A equals B as typed.
	Rules []Rule
	// Missing is a minimal set of rules that are off in this profile and would make A and B
	// equal if they were on. Nil if Same, or if no set would.
	Missing []Rule
}

// Compare explains two URLs and names the rules by which they merge, or would. The error is
// that of the first URL that has no canonical form. It costs much more than comparing
// canonical forms: use it on pairs a person wants to see.
func (p *Profile) Compare(a, b string) (Comparison, error) {
	var c Comparison
	var err error
	if c.A, err = p.Explain(a); err != nil {
		return c, fmt.Errorf("cannot compare; first URL: %w", err)
	}
	if c.B, err = p.Explain(b); err != nil {
		return c, fmt.Errorf("cannot compare; second URL: %w", err)
	}
	c.Same = c.A.Canonical == c.B.Canonical
	switch {
	case p.qiita != nil && c.Same:
		c.Rules = p.qiita.smallest(a, b, 0, p.qiita.firing(p.qiita.onFor(a), a, b)) // one form, one site
	case p.qiita != nil:
		c.Missing = p.qiita.missing(a, b)
	case c.Same:
		c.Rules = rulesOf(c.A, c.B)
	}
	return c, nil
}

// rulesOf lists the rules of two explanations, where they can't be taken apart.
func rulesOf(explanations ...Explanation) []Rule {
	out, seen := []Rule{}, map[Rule]bool{}
	for _, e := range explanations {
		for _, s := range e.Steps {
			if !seen[s.Rule] {
				seen[s.Rule] = true
				out = append(out, s.Rule)
			}
		}
	}
	return out
}

// missing tries what rules that are off could do: first those meant for crawling, then
// the two that are for audits only.
func (q *qiita) missing(a, b string) []Rule {
	ours := q.onFor(a) & q.onFor(b)
	all := ours
	for id := range ruleCount {
		if rules[id].Optional && id != rKeepHashbang && id != rScopedRules {
			all = all.with(id)
		}
	}
	for _, on := range []ruleSet{all.without(rDropQuery).without(rLowercasePath), all} {
		if q.equalUnder(on, a, b) {
			return q.smallest(a, b, ours, q.firing(on, a, b)&^ours)
		}
	}
	return nil
}

// firing is the rules of on that change one of the URLs, or how another rule does.
func (q *qiita) firing(on ruleSet, urls ...string) (fired ruleSet) {
	for _, raw := range urls {
		_, _ = q.run(raw, on, func(r Rule, _, _ string) { fired = fired.with(findRule(r)) })
	}
	if fired.has(rSortValues) {
		fired |= on & setOfRules([]ruleID{rSortQuery}) // without it sort-values does nothing
	}
	if fired.has(rStripIndex) {
		fired |= on & setOfRules([]ruleID{rStripTrailingSlash}) // which strip-index does again
	}
	return fired
}

func (q *qiita) equalUnder(on ruleSet, a, b string) bool {
	ca, errA := q.run(a, on, nil)
	cb, errB := q.run(b, on, nil)
	return errA == nil && errB == nil && ca == cb
}

// manyRules is how many candidates are tried in all combinations.
const manyRules = 12

// smallest finds a smallest subset of candidates that, with the rules of base, makes a
// and b equal; all of them do. Of many candidates it returns a set in which each is
// needed, found by leaving out one at a time.
func (q *qiita) smallest(a, b string, base, candidates ruleSet) []Rule {
	if a == b {
		return []Rule{}
	}
	ids := candidates.ids()
	if len(ids) > manyRules {
		for _, id := range ids {
			if rest := candidates.without(id); q.equalUnder(base|rest, a, b) {
				candidates = rest
			}
		}
		return candidates.names()
	}
	for size := 0; size < len(ids); size++ {
		if found, ok := q.choose(a, b, base, ids, size); ok {
			return (found &^ base).names()
		}
	}
	return candidates.names()
}

// choose tries all ways to add size of the ids to set.
func (q *qiita) choose(a, b string, set ruleSet, ids []ruleID, size int) (ruleSet, bool) {
	if size == 0 {
		return set, q.equalUnder(set, a, b)
	}
	for i := 0; i+size <= len(ids); i++ {
		if found, ok := q.choose(a, b, set.with(ids[i]), ids[i+1:], size-1); ok {
			return found, true
		}
	}
	return 0, false
}
