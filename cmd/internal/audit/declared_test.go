package audit

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/synth"
)

// score is what a rule file does to pages that were held out.
type score struct{ merges, wrong, found, duplicates int }

func (s score) plus(d score) score {
	return score{s.merges + d.merges, s.wrong + d.wrong, s.found + d.found, s.duplicates + d.duplicates}
}

func (s score) precision() float64 { return 1 - float64(s.wrong)/float64(max(1, s.merges)) }
func (s score) recall() float64    { return float64(s.found) / float64(max(1, s.duplicates)) }

// evidenceKinds are the columns of the table: which evidence learn is given.
var evidenceKinds = [...]string{"declarations", "digests", "both"}

// declaringWebs are the rows of the table.
func declaringWebs() (rows []synth.DeclareOptions) {
	for _, lie := range synth.Lies {
		rows = append(rows, synth.DeclareOptions{Lie: lie})
	}
	for _, way := range []synth.Way{synth.BySearch, synth.ByClean} {
		rows = append(rows, synth.DeclareOptions{Way: way, Lie: synth.Honest}, synth.DeclareOptions{Way: way, Lie: synth.IgnoresTruth})
	}
	return rows
}

// learnDeclaring learns from a web with some of its evidence, and scores the rules on the
// pages that were held out.
func learnDeclaring(t *testing.T, d *synth.Declaring, times int, evidence string) score {
	t.Helper()
	l := NewLog()
	d.Fetches(times, func(f synth.DeclaredFetch) {
		c := Capture{URL: f.URL, Time: f.Time, Status: 200, Digest: f.Digest, Canonical: f.Canonical, NoVarySearch: f.NoVarySearch, CleanParam: f.CleanParam}
		switch evidence {
		case "declarations":
			c.Digest = ""
		case "digests":
			c.Canonical, c.NoVarySearch, c.CleanParam = "", "", ""
		}
		if err := l.Add(c); err != nil {
			t.Fatal(err)
		}
	})
	learned, err := Learn(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := learned.WriteRuleFile(&file); err != nil {
		t.Fatal(err)
	}
	p, err := canon.Qiita().With(canon.WithRuleFile(&file))
	if err != nil {
		t.Fatal(err)
	}
	return scoreHeldOut(t, d, p)
}

// scoreHeldOut counts what a profile merges of the pages held out. In a group of n URLs of
// m pages n-1 URLs are merged, m-1 of them wrongly.
func scoreHeldOut(t *testing.T, d *synth.Declaring, p *canon.Profile) (s score) {
	t.Helper()
	type cell struct {
		form string
		page uint64
	}
	urls, forms, cells := map[uint64]int{}, map[string]map[uint64]bool{}, map[cell]bool{}
	n, apart := 0, map[uint64]int{}
	d.Each(func(u synth.Declared) {
		if !u.HeldOut {
			return
		}
		form, err := p.Canonicalize(u.URL)
		if err != nil {
			t.Fatal(err)
		}
		n++
		urls[u.Page]++
		if forms[form] == nil {
			forms[form] = map[uint64]bool{}
		}
		forms[form][u.Page] = true
		if !cells[cell{form, u.Page}] {
			cells[cell{form, u.Page}] = true
			apart[u.Page]++
		}
	})
	s.merges = n - len(forms)
	for _, pages := range forms {
		s.wrong += len(pages) - 1
	}
	for page, n := range urls {
		s.duplicates += n - 1
		s.found += n - apart[page]
	}
	return s
}

// TestLearnsFromDeclarations checks the aims of learn on webs with hosts that declare wrong links.
// On pages that were not used to learn, at least 99 % of the merges must be of one page. Digests alone must find 90 % of the
// duplicates with five fetches of each URL, although 2 % of the digests are drawn at random. With one fetch, learn must
// find half of them by what is declared; 30 % by Clean-param, which here six of ten hosts have. FIRSTSEEN_TORTURE_N=5 uses five webs of each kind, and prints the figures of docs/RESULTS.md.
func TestLearnsFromDeclarations(t *testing.T) {
	if testing.Short() {
		t.Skip("crawls ten hosts of each web that declares")
	}
	seeds, fetches := uint64(1), []int{1}
	hosts := 10
	all := os.Getenv("FIRSTSEEN_TORTURE_N") != ""
	if all {
		seeds, fetches, hosts = 5, []int{1, 2, 5}, 0
	}
	for _, opt := range declaringWebs() {
		opt.Hosts = hosts
		name := strings.TrimSpace(fmt.Sprintf("%s %s", opt.Way, opt.Lie))
		scores := map[string]score{}
		for seed := range seeds {
			opt.Seed = seed + 1
			d := synth.NewDeclaring(opt)
			for _, times := range fetches {
				for _, kind := range evidenceKinds {
					if all || kind == "both" {
						key := fmt.Sprint(kind, times)
						scores[key] = scores[key].plus(learnDeclaring(t, d, times, kind))
					}
				}
			}
			if !all {
				scores["digests5"] = scores["digests5"].plus(learnDeclaring(t, d, 5, "digests"))
			}
		}
		for _, times := range fetches {
			row := fmt.Sprintf("| %s | %d |", name, times)
			for _, kind := range evidenceKinds {
				s := scores[fmt.Sprint(kind, times)]
				row += fmt.Sprintf(" %.1f / %.1f |", 100*s.precision(), 100*s.recall())
			}
			t.Log(row)
			if both := scores[fmt.Sprint("both", times)]; both.precision() < 0.99 {
				t.Errorf("%s at %d fetches: got precision %.4f with both; want 0.99", name, times, both.precision())
			}
		}
		least := 0.5
		if opt.Way == synth.ByClean {
			least = 0.3
		}
		if one, five := scores["both1"], scores["digests5"]; one.recall() < least || five.recall() < 0.9 || five.precision() < 0.99 {
			t.Errorf("%s: both find %.3f at one fetch, digests alone %.3f at five, with precision %.4f; want %.1f, 0.9, and 0.99",
				name, one.recall(), five.recall(), five.precision(), least)
		}
	}
}

// TestOneRuleForAllPlaces: the places of a Clean-param rule are evidence for each other, if they are too
// small to prove it alone. A place whose contents speak against it is left out, and one that
// declares the contrary ends this for all.
func TestOneRuleForAllPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		also []Capture
		want string
	}{
		"one rule":             {"ref /", nil, "/a/ /b/ /c/"},
		"a rule for each":      {"ref /a/\nref /b/\nref /c/", nil, ""},
		"one of them is wider": {"ref /a/\nref /", nil, "/a/ /b/ /c/"},
		"two contents that differ": {"ref /", []Capture{
			{URL: "https://a.example/b/p?id=1", Status: 200, Digest: "A"}, {URL: "https://a.example/b/p?id=1&ref=1", Status: 200, Digest: "B"},
			{URL: "https://a.example/b/p?id=2", Status: 200, Digest: "C"}, {URL: "https://a.example/b/p?id=2&ref=1", Status: 200, Digest: "D"},
			{URL: "https://a.example/a/p?id=1", Status: 200, Digest: "E"}, {URL: "https://a.example/a/p?id=1&ref=1", Status: 200, Digest: "E"},
		}, ""},
		"one content of many": {"ref /", []Capture{
			{URL: "https://a.example/b/p?id=1", Status: 200, Digest: "A"}, {URL: "https://a.example/b/p?id=1&ref=1", Status: 200, Digest: "B"},
		}, ""},
		"a page that keeps it": {"ref /", []Capture{{URL: "https://a.example/b/p?id=1&ref=2", Canonical: "https://a.example/b/p?id=1&ref=2"}}, ""},
	} {
		l := NewLog()
		captures := append(c.also, Capture{URL: "https://a.example/robots.txt", CleanParam: c.rule})
		for i := range 60 {
			captures = append(captures, Capture{URL: fmt.Sprintf("https://a.example/%c/p?id=%d&ref=1", 'a'+i%3, i)})
		}
		for _, capture := range captures {
			if err := l.Add(capture); err != nil {
				t.Fatal(err)
			}
		}
		learned, err := Learn(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range learned.Proposals {
			got = append(got, p.Path)
			if p.Param != "ref" || p.Source != FromDeclarations || p.Declared.Covered != 60 {
				t.Errorf("%s: got %+v of %+v; want ref, by 60 pages", name, p, p.Declared)
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != c.want {
			t.Errorf("%s: got proposals for %v; want %q; left out %+v", name, got, c.want, learned.LeftOut)
		}
	}
}

// TestWhatIsDeclared: each way to declare proposes a rule from single fetches, and what speaks
// against it keeps it from being proposed.
func TestWhatIsDeclared(t *testing.T) {
	const site = "https://a.example/shop/"
	for name, c := range map[string]struct {
		capture func(i int) Capture
		also    []Capture
		want    string
	}{
		"canonical": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), Canonical: fmt.Sprintf(site+"p?id=%d", i)}
		}, nil, "ref"},
		"No-Vary-Search": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), NoVarySearch: `params=("%72ef")`}
		}, nil, "ref"},
		"except": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), NoVarySearch: `except=("id")`}
		}, nil, "ref"},
		"Clean-param": {func(i int) Capture { return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i)} },
			[]Capture{{URL: "https://a.example/robots.txt", CleanParam: "x /\nref /shop*p"}}, "ref"},
		"Clean-param elsewhere": {func(i int) Capture { return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i)} },
			[]Capture{{URL: "https://a.example/robots.txt", CleanParam: "ref /news/"}}, ""},
		"Clean-param of another host": {func(i int) Capture { return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i)} },
			[]Capture{{URL: "https://b.example/robots.txt", CleanParam: "ref"}}, ""},
		"another host": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), Canonical: fmt.Sprintf("https://b.example/shop/p?id=%d", i)}
		}, nil, ""},
		"another page": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), Canonical: fmt.Sprintf(site+"q?id=%d", i)}
		}, nil, ""},
		"one page for all": {func(i int) Capture { return Capture{URL: fmt.Sprintf(site+"?id=%d", i), Canonical: site} }, nil, ""},
		"one that keeps it": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), Canonical: fmt.Sprintf(site+"p?id=%d", i)}
		}, []Capture{{URL: site + "p?id=1&ref=2", Canonical: site + "p?id=1&ref=2"}}, ""},
		"one with other content": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf(site+"p?id=%d&ref=1", i), Canonical: fmt.Sprintf(site+"p?id=%d", i), Status: 200, Digest: "A"}
		}, []Capture{{URL: site + "p?id=1", Status: 200, Digest: "B"}}, ""},
		"a fold": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf("https://www.a.example/shop/%d", i), Canonical: fmt.Sprintf(site+"%d", i)}
		}, nil, "strip-www"},
		"a fold that is denied": {func(i int) Capture {
			return Capture{URL: fmt.Sprintf("https://www.a.example/shop/%d", i), Canonical: fmt.Sprintf(site+"%d", i)}
		}, []Capture{{URL: site + "x", Canonical: site + "x"}, {URL: "https://www.a.example/shop/x", Canonical: "https://www.a.example/shop/x"}}, ""},
	} {
		l := NewLog()
		for i := range 80 {
			if err := l.Add(c.capture(i)); err != nil {
				t.Fatal(err)
			}
		}
		for _, more := range c.also {
			if err := l.Add(more); err != nil {
				t.Fatal(err)
			}
		}
		learned, got := learnNames(t, l)
		for _, p := range learned.Proposals {
			if p.Source != FromDeclarations || p.Declared.Learned+p.Declared.Validated < 40 || p.Example[0] == "" {
				t.Errorf("%s: got %+v of %+v", name, p, p.Declared)
			}
		}
		if got != c.want {
			t.Errorf("%s: got proposals %q; want %q; left out %+v", name, got, c.want, learned.LeftOut)
		}
	}
}

// learnNames learns from a log, and returns also the names of what is proposed.
func learnNames(t *testing.T, l *Log) (learned *Learned, names string) {
	t.Helper()
	learned, err := Learn(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range learned.Proposals {
		names += p.What()
	}
	return learned, names
}

// TestMissingBesideDeclared: pages declare a name under which most of them are missing. Nothing was fetched twice, so those that agree have no
// control, and the missing ones must count nevertheless.
func TestMissingBesideDeclared(t *testing.T) {
	for _, there := range []int{0, 1, 10, 40, 100, 195} {
		l := NewLog()
		for i := range 200 {
			named := fmt.Sprintf("https://a.example/shop/p?id=%d", i)
			if err := l.Add(Capture{URL: named + "&ref=1", Canonical: named, Status: 200, Digest: fmt.Sprint("D", i)}); err != nil {
				t.Fatal(err)
			}
			c := Capture{URL: named, Status: 404, Digest: "E"}
			if i < there {
				c.Status, c.Digest = 200, fmt.Sprint("D", i)
			}
			if err := l.Add(c); err != nil {
				t.Fatal(err)
			}
		}
		learned, got := learnNames(t, l)
		if want := there == 195; (got == "ref") != want {
			t.Errorf("%d of 200 pages are there: got proposals %q; want one: %t; left out %+v", there, got, want, learned.LeftOut)
		}
	}
}
