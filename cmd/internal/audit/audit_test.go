package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
)

// log makes a log of captures written as "URL digest second status".
func captureLog(t *testing.T, captures ...Capture) *Log {
	t.Helper()
	l := NewLog()
	l.minControl = 1
	for _, c := range captures {
		if err := l.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func at(second int64, url, digest string) Capture {
	return Capture{URL: url, Digest: digest, Time: time.Unix(second, 0), Status: 200}
}

func runForms(t *testing.T, l *Log) map[string]Verdict {
	t.Helper()
	r := runAudit(t, l, Request{Profile: canon.Qiita()})
	byName := map[string]Verdict{}
	for _, v := range r.Forms {
		byName[v.Name] = v
	}
	return byName
}

func runAudit(t *testing.T, l *Log, req Request) *Report {
	t.Helper()
	r, err := Run(context.Background(), l, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOutcomes(t *testing.T) {
	moved := at(1, "http://f.com/", "")
	moved.Status, moved.Redirect = 301, "HTTPS://f.com:443/"
	gone := at(2, "https://e.com/", "")
	gone.Status = 404
	for _, c := range []struct {
		name string
		log  []Capture
		want Outcome
	}{
		{"same", []Capture{at(1, "http://a.com/", "A"), at(2, "https://a.com/", "A")}, Same},
		{"nearest in time", []Capture{at(1, "http://a.com/", "A"), at(9, "https://a.com/", "B"), at(10, "http://a.com/", "B")}, Same},
		{"different", []Capture{at(1, "http://b.com/", "A"), at(2, "https://b.com/", "B")}, Different},
		{"volatile", []Capture{at(1, "http://c.com/", "A"), at(2, "https://c.com/", "B"), at(3, "http://c.com/", "C")}, Volatile},
		{"no digest", []Capture{at(1, "http://d.com/", ""), at(2, "https://d.com/", "B")}, NoDigest},
		{"digests of two algorithms", []Capture{at(1, "http://d.com/", "5EJ6EPZDAGVYKVFECYINYOG3KDX6EIE3"), at(2, "https://d.com/", "d41d8cd98f00b204e9800998ecf8427f")}, NoDigest},
		{"empty body", []Capture{at(1, "http://d.com/", "sha1:"+EmptyBody), at(2, "https://d.com/", EmptyBody)}, NoDigest},
		{"error", []Capture{at(1, "http://e.com/", "A"), gone}, Failed},
		{"not found, and a page soon after", []Capture{at(3, "http://e.com/", "A"), gone}, Different},
		{"redirect into the form", []Capture{moved, at(2, "https://f.com/", "B")}, Redirect},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := runForms(t, captureLog(t, c.log...))["fold-https"]
			if v.Merges != 1 || v.Outcomes[c.want] != 1 {
				t.Errorf("got %d merges, %v; want one: %s", v.Merges, v.Outcomes, c.want)
			}
		})
	}
}

// TestAPageThatIsLostIsEvidence has 30 pages that are not found under the URL of one scheme. Where they are under the other one soon after, the rule that
// merges the two is wrong; later, or before, they may have come or gone by themselves.
func TestAPageThatIsLostIsEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		status, stable int
		different      int // pairs, as the precision counts them
		found          int64
		digest         func(i int) string
	}{
		"found after":           {404, 30, 30, 2, func(i int) string { return fmt.Sprint("D", i) }},
		"gone":                  {410, 30, 30, 2, func(i int) string { return fmt.Sprint("D", i) }},
		"found before":          {404, 0, 0, 0, func(i int) string { return fmt.Sprint("D", i) }},
		"found much later":      {404, 0, 0, 200_000, func(i int) string { return fmt.Sprint("D", i) }},
		"another failure":       {500, 0, 0, 2, func(i int) string { return fmt.Sprint("D", i) }},
		"one page for each":     {404, 1, 30, 2, func(int) string { return "SOFT404" }},
		"no content to tell by": {404, 0, 0, 2, func(int) string { return "" }},
	} {
		t.Run(name, func(t *testing.T) {
			l := captureLog(t)
			for i := range 30 {
				gone := at(1, fmt.Sprint("http://a.com/", i), "")
				gone.Status = c.status
				page := at(c.found, fmt.Sprint("https://a.com/", i), c.digest(i))
				if err := errors.Join(l.Add(gone), l.Add(page)); err != nil {
					t.Fatal(err)
				}
			}
			v := runForms(t, l)["fold-https"]
			if v.Stable != c.stable || v.Held != 0 || v.Outcomes[Different] != c.different || v.Outcomes[Failed] != 30-c.different || (len(v.Examples) > 0) != (c.stable > 0) {
				t.Fatalf("got %+v; want %d contents against the rule", v, c.stable)
			}
			if c.stable == 30 && (v.Verdict.Interval.High > 0.6 || v.Examples[0].DigestA != http.StatusText(c.status)) {
				t.Errorf("got %+v, as %+v; want a wrong rule", v.Verdict, v.Examples[0])
			}
		})
	}
}

func TestDigestsOfManyHostsDoNotCount(t *testing.T) {
	l := captureLog(t)
	for _, host := range []string{"a", "b", "c", "d", "e", "f"} {
		for _, scheme := range []string{"http", "https"} {
			if err := l.Add(at(1, scheme+"://"+host+".com/", "SPACER")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if v := runForms(t, l)["fold-https"]; v.Outcomes[NoDigest] != 6 {
		t.Errorf("got %v; want no verdict from a digest of six hosts", v.Outcomes)
	}
}

// TestHashbang: what drop-fragment merges of "#!" has a row of its own, or pages that a script builds from it would hide behind the many
// anchors that are harmless.
func TestHashbang(t *testing.T) {
	l := captureLog(t)
	for i := range 30 {
		page := fmt.Sprintf("http://a.com/%d", i)
		for second := range int64(2) {
			if err := errors.Join(l.Add(at(second, page, fmt.Sprint("D", i))), l.Add(at(second, page+"#top", fmt.Sprint("D", i))), l.Add(at(second, page+"#!x", fmt.Sprint("E", i)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := runForms(t, l)
	if v := got["drop-fragment"]; v.Merges != 60 || v.Outcomes[Different] != 30 {
		t.Errorf("got %d merges, %v; want 60, half of them different", v.Merges, v.Outcomes)
	}
	if v := got[DropHashbang]; v.Merges != 30 || v.Outcomes[Different] != 30 || v.Stable != 30 || v.Held != 0 || *v.LeftOut != 30 {
		t.Errorf("got %+v; want 30 merges, all different, and 30 left out", v)
	}
	kept, err := canon.Qiita().With(canon.Enable(canon.KeepHashbang))
	if err != nil || DropsHashbang(kept) {
		t.Errorf("got %v; want a profile that keeps them", err)
	}
}

// TestRuleAlone: a rule that is always on is judged on the URL as found, one
// that can be switched on top of those, and each only on its own merges.
func TestRuleAlone(t *testing.T) {
	l := captureLog(t,
		at(1, "http://a.com/%7ex", "A"), at(1, "http://a.com/~x", "A"), // decode-unreserved (and the case of the escape)
		at(1, "http://b.com:80/", "B"), at(1, "http://b.com/", "B"), at(1, "http://www.b.com/", "B"),
		at(1, "http://c.com/?b=1&a=2", "C"), at(1, "http://c.com/?a=2&b=1", "C"),
		at(1, "http://d.com/?a=2&a=1&b", "D"), at(1, "http://d.com/?a=1&a=2&b", "E"), at(1, "http://d.com/?b&a=2&a=1", "D"), // values, then names
	)
	got := runForms(t, l)
	for name, want := range map[string]int{
		"default-port": 1, "strip-www": 1, "sort-query": 2, "sort-values": 1, "fold-https": 0, "always": 2,
		"profile qiita": 5, "eager": 6, "drop-query": 3, "surt": 6,
	} {
		if got[name].Merges != want {
			t.Errorf("%s: got %d merges; want %d", name, got[name].Merges, want)
		}
	}
}

func TestRepeatsAndRecall(t *testing.T) {
	l := captureLog(t,
		at(1, "http://a.com/", "A"), at(2, "http://www.a.com/", "A"), // explained by strip-www
		at(1, "http://b.com/1", "B"), at(2, "http://b.com/2", "B"), // by no rule
		at(1, "http://c.com/", "C"), at(2, "http://c.com/", "C")) // one URL: no repeat
	r := runAudit(t, l, Request{Profile: canon.Qiita()})
	if r.Captures != 6 || r.URLs != 5 || r.Recaptured != 1 || r.Repeats != 2 {
		t.Errorf("got %d captures of %d URLs, %d again, %d repeats; want 6, 5, 1, 2", r.Captures, r.URLs, r.Recaptured, r.Repeats)
	}
	for _, v := range r.Forms {
		if want := map[string]int{"strip-www": 1, "eager": 1, "surt": 1}[v.Name]; v.Explains != want {
			t.Errorf("%s explains %d repeats; want %d", v.Name, v.Explains, want)
		}
	}
}

func TestLeaveOneOutAndAgainst(t *testing.T) {
	l := captureLog(t,
		at(1, "http://a.com/?b=1&a=2", "A"), at(1, "http://a.com/?a=2&b=1", "A"), // sort-query
		at(1, "http://b.com//x?q", "B"), at(1, "http://b.com/x?q=", "B"), // two rules, neither alone
		at(1, "http://c.com/", "C"), at(1, "http://www.c.com/", "D")) // only with strip-www
	www, err := canon.Qiita().With(canon.Enable(canon.StripWWW), canon.Disable(canon.SortQuery))
	if err != nil {
		t.Fatal(err)
	}
	r := runAudit(t, l, Request{Profile: canon.Qiita(), Against: www})
	left := map[string]int{}
	for _, v := range r.Forms {
		if v.LeftOut != nil && *v.LeftOut != 0 {
			left[v.Name] = *v.LeftOut
		}
	}
	if want := map[string]int{"sort-query": 1, "collapse-slashes": 1, "complete-params": 1}; !maps.Equal(left, want) {
		t.Errorf("leave-one-out: got %v; want %v", left, want)
	}
	if r.Against.Joined.Outcomes[Different] != 1 || r.Against.Joined.Merges != 1 || r.Against.Split.Merges != 1 || r.Against.Split.Outcomes[Same] != 1 {
		t.Errorf("got against %+v; want one wrong join and one right split", r.Against)
	}
}
