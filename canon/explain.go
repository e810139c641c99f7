package canon

// A Step is the effect of one rule on a URL: the whole URL before and after it.
type Step struct {
	Rule          Rule
	Before, After string
	// Scope is the entry of a rule file by which the rule holds here, its host and
	// path: "example.com/wiki". Empty for a rule that holds everywhere.
	Scope string
}

// An Explanation is how a URL came to its canonical form: the rules that changed
// something, in order. An input that was canonical already has no steps.
type Explanation struct {
	Input, Canonical string
	Steps            []Step
	// Sites are the entries for sites of a rule file that hold for this URL, in descending order
	// of precedence: "example.com/wiki +strip-www,-collapse-slashes".
	Sites []string
}

// Explain canonicalizes raw and lists what each rule changed. Errors are those of
// [Profile.AppendCanonical]; the steps up to the error are returned with it.
// It is meant for people: it costs many times what Canonicalize does.
func (p *Profile) Explain(raw string) (Explanation, error) {
	e := Explanation{Input: raw}
	var err error
	if e.Steps, err = p.engine.steps([]byte(raw)); err != nil {
		return e, err
	}
	if q, ok := p.engine.(*qiita); ok {
		e.Sites = q.sitesOf(raw)
	}
	e.Canonical = raw
	if n := len(e.Steps); n > 0 {
		e.Canonical = e.Steps[n-1].After
	}
	return e, nil
}
