package canon

import "fmt"

// Qiita is the default profile: the six steps of the Qiita article on URL
// canonicalization, made safe for a crawler. Its canonical forms keep two laws, under
// every subset of the optional rules: canonicalizing one again changes nothing
// (idempotence), and neither does a WHATWG parser (fixpoint).
func Qiita() *Profile {
	return qiitaPreset
}

var qiitaPreset = newQiita(settings{on: defaultRules(), maxLength: DefaultMaxLength})

func newQiita(s settings) *Profile {
	e := &qiita{s}
	return &Profile{name: "qiita", version: 1, spec: e.spec(), rules: e.infos(), engine: e}
}

// qiita is the engine of the profile.
type qiita struct{ settings }

func (q *qiita) appendCanonical(dst, raw []byte) ([]byte, error) {
	if err := q.checkLength(len(raw), "URL"); err != nil {
		return dst, err
	}
	out, err := run(string(raw), q.on, q.params, nil)
	if err == nil {
		err = q.checkLength(len(out), "canonical form")
	}
	if err != nil {
		return dst, err
	}
	return append(dst, out...), nil
}

func (q *qiita) checkLength(n int, what string) error {
	if n > q.maxLength {
		return fmt.Errorf("cannot canonicalize; got a %s of %d bytes; want at most %d: %w", what, n, q.maxLength, ErrTooLong)
	}
	return nil
}

func (q *qiita) steps(raw []byte) (steps []Step, err error) {
	if err := q.checkLength(len(raw), "URL"); err != nil {
		return nil, err
	}
	out, err := run(string(raw), q.on, q.params, func(r Rule, before, after string) {
		steps = append(steps, Step{r, before, after})
	})
	if err == nil {
		err = q.checkLength(len(out), "canonical form")
	}
	return steps, err
}

func (q *qiita) infos() (infos []RuleInfo) {
	for id := range ruleCount {
		if q.on.has(id) {
			infos = append(infos, rules[id].RuleInfo)
		}
	}
	return infos
}

// spec lists what differs from the preset, in the order of the rules.
func (q *qiita) spec() string {
	spec, sep := "", ""
	for id := range ruleCount {
		if on := q.on.has(id); on != rules[id].Default && id != rScopedParams {
			spec += sep + map[bool]string{true: "+", false: "-"}[on] + string(rules[id].Rule)
			sep = ","
		}
	}
	if q.params != nil && q.on.has(rScopedParams) {
		spec += sep + "file=" + q.params.digest
		sep = ","
	}
	if q.maxLength != DefaultMaxLength {
		spec += fmt.Sprintf("%smax=%d", sep, q.maxLength)
	}
	return spec
}

// derive makes the profile that the options lead to.
func (q *qiita) derive(opts []Option) (*Profile, error) {
	s := q.settings
	for _, o := range opts {
		if err := o(&s); err != nil {
			return nil, err
		}
	}
	return newQiita(s), nil
}
