package canon

import (
	"strings"
	"testing"
)

// checkFastIsSlow holds both ways of a profile to the answer of the slow path alone.
func checkFastIsSlow(t *testing.T, p *Profile, raw []byte) {
	t.Helper()
	q := p.qiita
	want, wantErr := q.run(string(raw), q.onFor(string(raw)), nil)
	if wantErr != nil {
		want = ""
	}
	got, err := p.AppendCanonical(nil, raw)
	if string(got) != want || Code(err) != Code(wantErr) {
		t.Errorf("%s of %q: got %q, %v; the slow path gives %q, %v", p, raw, got, err, want, wantErr)
	}
	text, err := p.Canonicalize(string(raw))
	if text != want || Code(err) != Code(wantErr) {
		t.Errorf("%s of string %q: got %q, %v; the slow path gives %q, %v", p, raw, text, err, want, wantErr)
	}
	e, err := p.Explain(string(raw))
	if e.Canonical != want || Code(err) != Code(wantErr) {
		t.Errorf("%s of %q explained: got %q, %v; the slow path gives %q, %v", p, raw, e.Canonical, err, want, wantErr)
	}
}

// TestFastIsSlowRuleByRule switches each optional rule alone, for all sites and for one: a
// profile so near the preset has short ways that nearly all subsets of the rules close.
func TestFastIsSlowRuleByRule(t *testing.T) {
	for id := range ruleCount {
		if !rules[id].Optional || id == rScopedParams || id == rScopedRules {
			continue
		}
		r, on := rules[id].Rule, !rules[id].Default
		checkSeeds(t, func(s *settings) error { return s.switchRules([]Rule{r}, on) })
		if perSite.has(id) {
			word := map[bool]string{true: "+", false: "-"}[on] + string(r)
			checkSeeds(t, WithRuleFile(strings.NewReader(`{"sites": [{"host": "h", "rules": ["`+word+`"]}]}`)))
		}
	}
}

func checkSeeds(t *testing.T, o Option) {
	t.Helper()
	p, err := Qiita().With(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range lawSeeds {
		checkFastIsSlow(t, p, []byte(raw))
	}
}

// FuzzFastIsSlow holds the one-pass path equal to the rules run one by one.
func FuzzFastIsSlow(f *testing.F) {
	seedLaws(f)
	f.Fuzz(func(t *testing.T, tail []byte, bits uint32, prefix uint8) {
		raw := append([]byte(prefixes[int(prefix)%len(prefixes)]), tail...)
		checkFastIsSlow(t, subset(t, bits), raw)
		checkFastIsSlow(t, Qiita(), raw)
	})
}
