package canon

// appendEngine makes an engine of one append function: a profile whose rules can't be
// told apart. Its one step carries the name rule.
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
