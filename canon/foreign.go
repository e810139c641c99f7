package canon

import "strings"

// The files foreign… contain the profiles that reproduce the canonical forms of other programs.
// Most consist of one rule that has the name of the profile. Purell has a rule for each flag.

// fixed returns a profile of one rule, with the name of the rule and version 1.
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

// SafeBrowsing shares the escaping with SURT, and the dot segments with Scrapy.

// unescapeFully decodes escapes until none is left. Each byte is looked at once: a byte
// that completes an escape replaces it, and may itself complete the next one. Escapes
// cannot overlap, so the order in which they are decoded makes no difference.
func unescapeFully(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		b = append(b, s[i])
		for n := len(b); n >= 3 && isEscape(b, n-3); n = len(b) {
			c := unhex[b[n-2]]<<4 | unhex[b[n-1]]
			b = append(b[:n-3], c)
		}
	}
	return string(b)
}

// escapeMinimal appends s with controls, blanks, "#", "%" and all above ASCII escaped.
func escapeMinimal(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '%' {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// resolveDots removes dot segments as RFC 3986, 5.2.4, does. An empty path becomes "/", as
// does one that has dot segments and lacks the slash at its beginning.
func resolveDots(path string) string {
	if path != "" && !strings.Contains(path, "/.") {
		return path
	}
	return withoutDots("/" + strings.TrimPrefix(path, "/"))
}
