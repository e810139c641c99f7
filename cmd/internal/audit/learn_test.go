package audit

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/synth"
)

// TestLearnsPlantedParameters learns from a web on whose hosts two parameters
// change the page and two don't, and applies the rule file to the pages of the
// same hosts that it has not seen.
func TestLearnsPlantedParameters(t *testing.T) {
	opt := synth.Options{Seed: 5, Hosts: 100, Pages: 60_000, Params: 0.6, Volatile: 0.25}
	l, heldOut := logOf(t, opt, func(url []byte) bool { return pageNumber(url)%2 == 0 })
	learned, err := Learn(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	meaningful, found := plantedParams(t, opt)
	for _, p := range learned.Proposals {
		if meaningful[p.Host+" "+p.Param] {
			t.Errorf("proposed to drop %s at %s%s, which changes the page: %+v", p.Param, p.Host, p.Path, p)
		}
	}
	if len(learned.Proposals) < 30 {
		t.Errorf("got %d proposals; want at least 30 of the %d neutral parameters and more", len(learned.Proposals), found)
	}
	for _, c := range learned.LeftOut {
		if c.Why == "" {
			t.Errorf("left %s at %s%s out without a reason", c.Param, c.Host, c.Path)
		}
	}
	if gained, right := checkGain(t, learned, heldOut); float64(right) < 0.99*float64(gained) {
		t.Errorf("got %d of %d merges right; want 99 %%", right, gained)
	}
}

// checkGain counts what the rule file merges beyond the safe rules, and how much of it is
// one page.
func checkGain(t *testing.T, learned *Learned, identity map[string]uint64) (gained, right int) {
	t.Helper()
	var file bytes.Buffer
	if err := learned.WriteRuleFile(&file); err != nil {
		t.Fatal(err)
	}
	with, err := canon.Qiita().With(canon.WithRuleFile(&file))
	if err != nil {
		t.Fatalf("cannot load the rule file: %v", err)
	}
	safe, _, _ := mergesOf(t, canon.Qiita(), canon.None(), identity)
	gained, right, _ = mergesOf(t, with, canon.Qiita(), identity)
	t.Logf("%d proposals; %d duplicates more than the %d of the safe rules, %d of them right", len(learned.Proposals), gained, safe, right)
	if float64(right) < 0.98*float64(gained) {
		t.Errorf("got %d of %d merges right; want 98 %%", right, gained)
	}
	if 5*gained < safe {
		t.Errorf("got %d duplicates more than %d; want 20 %% more", gained, safe)
	}
	return gained, right
}

// mergesOf counts the merges of p beyond those of base, and which are right.
func mergesOf(t *testing.T, p, base *canon.Profile, identity map[string]uint64) (merges, right, urls int) {
	t.Helper()
	seen, known := map[string]bool{}, map[string]uint64{}
	for _, url := range slices.Sorted(maps.Keys(identity)) {
		b, err := base.Canonicalize(url)
		if err != nil {
			t.Fatal(err)
		}
		if seen[b] {
			continue
		}
		seen[b] = true
		form, err := p.Canonicalize(url)
		if err != nil {
			t.Fatal(err)
		}
		urls++
		if other, ok := known[form]; ok {
			merges++
			if other == identity[url] {
				right++
			}
			continue
		}
		known[form] = identity[url]
	}
	return merges, right, urls
}

// pageNumber is the number in a URL of a page made from parameters, else -1.
func pageNumber(url []byte) int {
	_, after, ok := bytes.Cut(url, []byte("id=%2F"))
	if !ok {
		return -1
	}
	digits, _, _ := bytes.Cut(after, []byte("&"))
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return -1
	}
	return n
}

// logOf makes a log of the captures whose URL learn accepts, and returns the
// identities of the others.
func logOf(t *testing.T, opt synth.Options, learn func(url []byte) bool) (*Log, map[string]uint64) {
	t.Helper()
	w, err := synth.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	l, identity := NewLog(), map[string]uint64{}
	w.Captures(func(c *synth.Capture) bool {
		if !learn(c.URL) {
			identity[string(c.URL)] = c.Identity
			return true
		}
		err = l.Add(Capture{URL: string(c.URL), Time: c.Time, Status: c.Status, Digest: string(c.Digest[:]), Redirect: string(c.Redirect)})
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, identity
}

// plantedParams names the meaningful parameters as "host param", with and
// without www, and counts the neutral ones.
func plantedParams(t *testing.T, opt synth.Options) (meaningful map[string]bool, neutral int) {
	t.Helper()
	w, err := synth.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	meaningful = map[string]bool{}
	for _, p := range w.Params() {
		if p.Neutral {
			neutral++
			continue
		}
		host := strings.TrimPrefix(p.Host, "www.")
		meaningful[host+" "+p.Name] = true
		meaningful["www."+host+" "+p.Name] = true
	}
	return meaningful, neutral
}

func TestNeverProposesWhatCouldLoop(t *testing.T) {
	l := captureLog(t)
	for i := range 100 {
		page := "http://a.com/p?id=" + strings.Repeat("x", i)
		for second, url := range []string{page, page + "&ref=1", page + "&ref=1"} {
			if err := l.Add(at(int64(i*10+second), url, strings.Repeat("D", i+1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	params := func() (names []string) {
		learned, err := Learn(context.Background(), l)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range learned.Proposals {
			names = append(names, p.Param)
		}
		return names
	}
	if got := params(); len(got) != 1 || got[0] != "ref" {
		t.Fatalf("got proposals %q; want ref", got)
	}
	if err := l.AddRedirect("http://a.com/p?id=x", "http://a.com/p?id=x&ref=1"); err != nil {
		t.Fatal(err)
	}
	if got := params(); len(got) != 0 {
		t.Errorf("got proposals %q; want none, since a page redirects to itself with the parameter", got)
	}
}
