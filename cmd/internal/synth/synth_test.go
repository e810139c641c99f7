package synth

import "testing"

func web(t testing.TB, opt Options) *Web {
	t.Helper()
	w, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNoSpellingHasTwoIdentities: the planted truth contradicts itself nowhere.
func TestNoSpellingHasTwoIdentities(t *testing.T) {
	w := web(t, Options{Hosts: 2000, Pages: 30_000, Params: 0.3})
	identity, rules := map[string]uint64{}, map[Rule]int{}
	w.Captures(func(c *Capture) bool {
		if known, ok := identity[string(c.URL)]; ok && known != c.Identity {
			t.Errorf("%s is both %d and %d", c.URL, known, c.Identity)
		}
		identity[string(c.URL)] = c.Identity
		rules[c.Rule]++
		return !t.Failed()
	})
	for r := Own; r < numRules; r++ {
		if rules[r] == 0 && r != Fragment {
			t.Errorf("no spelling by %s", r)
		}
	}
}

func TestRefusesWhatMakesNoWeb(t *testing.T) {
	for _, opt := range []Options{{Hosts: -1}, {Pages: -2}, {Redirects: 1.5}, {Variant: -0.1}} {
		if _, err := New(opt); err == nil {
			t.Errorf("got a web of %+v; want an error", opt)
		}
	}
}
