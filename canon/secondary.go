package canon

// The secondary profiles are other people's canonical forms, each kept as it is.
// Their rules are not told apart: one rule, of the profile's own name, does it all.

// fixed makes such a profile, of version 1. The rule names it.
func fixed(info RuleInfo, f func(dst, raw []byte) ([]byte, error)) *Profile {
	info.Default = true
	return &Profile{name: string(info.Rule), version: 1, rules: []RuleInfo{info}, engine: appendEngine{info.Rule, f}}
}

// ofText makes an append function of one from text to text.
func ofText(f func(raw string) (string, error)) func(dst, raw []byte) ([]byte, error) {
	return func(dst, raw []byte) ([]byte, error) {
		out, err := f(string(raw))
		return append(dst, out...), err
	}
}

// appendEngine is the engine of one append function.
type appendEngine struct {
	rule   Rule
	append func(dst, raw []byte) ([]byte, error)
}

func (e appendEngine) appendCanonical(dst, raw []byte) ([]byte, error) {
	out, err := e.append(dst, raw)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (e appendEngine) steps(raw []byte) ([]Step, error) {
	out, err := e.append(nil, raw)
	if err != nil || string(out) == string(raw) {
		return nil, err
	}
	return []Step{{Rule: e.rule, Before: string(raw), After: string(out)}}, nil
}
