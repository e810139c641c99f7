package replay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/synth"
)

func measured(fetches ...logs.Record) *Declared {
	d := newDeclarations(canon.Qiita())
	for i := range fetches {
		d.add(&fetches[i])
	}
	return d.sum()
}

// counts writes the counts of one way to declare: URLs, saved, known late, same, different, unknown.
func (d *Declared) counts(source string) string {
	for _, s := range d.Sources {
		if s.Source == source {
			return fmt.Sprint(s.URLs, s.Saved, s.After, s.Same, s.Different, s.Unknown)
		}
	}
	return "none"
}

func TestDeclaredCounts(t *testing.T) {
	const a = "http://a.example"
	fetches := []logs.Record{
		{URL: a + "/p?x=1", Digest: "p", Canonical: a + "/p"},
		{URL: a + "/p?x=1#again", Digest: "other", Canonical: a + "/"},     // the same form: nothing is counted
		{URL: a + "/p", Digest: "p", Canonical: a + "/p"},                  // saved, the same
		{URL: a + "/p?x=2", Digest: "p2", Canonical: a + "/p"},             // known late, different
		{URL: a + "/p?x=3", Canonical: a + "/p"},                           // known late, unknown
		{URL: a + "/s?q=1&u=1", Digest: "s", NoVarySearch: `params=("u")`}, // teaches a rule
		{URL: a + "/s?q=1&u=2", Digest: "s", NoVarySearch: `params=("u")`}, // saved, the same
		{URL: a + "/s?q=2&u=2", Digest: "s2"},                              // of another page
		{URL: a + "/s/t?q=1&u=1", Digest: "t"},                             // the rule is of another path
		{URL: a + "/robots.txt", Digest: "r", CleanParam: "ref /c/\nbroken="},
		{URL: a + "/c/d?ref=1", Digest: "c"},
		{URL: a + "/c/d?ref=2", Digest: "c3"}, // saved, different
		{URL: a + "/e?ref=2", Digest: "e"},
		{URL: "mailto:a", Digest: "e"},
	}
	got := measured(fetches...)
	if got.Fetches != 12 || got.LeftOut != 0 {
		t.Errorf("got %d fetches, %d left out; want 12", got.Fetches, got.LeftOut)
	}
	for source, want := range map[string]string{
		"rel=canonical": "3 1 2 1 1 1", "No-Vary-Search": "3 1 0 1 0 0", "Clean-param": "2 1 0 0 1 0", "all declarations": "8 3 2 2 2 1",
	} {
		if got := got.counts(source); got != want {
			t.Errorf("%s: got %s; want %s", source, got, want)
		}
	}
	want := []WrongPair{{a + "/c/d?ref=2", a + "/c/d?ref=1"}}
	if wrong := got.Sources[2].Wrong; !slices.Equal(wrong, want) {
		t.Errorf("got %v; want %v", wrong, want)
	}
	if got := measured(logs.Record{URL: a + "/p", Canonical: a + "/p"}); len(got.Sources) != 0 {
		t.Errorf("got %v for a page that names itself; want nothing", got.Sources)
	}
}

// TestDeclaredPlanted: on webs with planted truth, honest canonical links merge nothing wrongly, and
// those of lying hosts are counted as wrong.
func TestDeclaredPlanted(t *testing.T) {
	for _, lie := range synth.Lies {
		wrong := int64(0)
		for _, seed := range []uint64{1, 21, 41, 61} { // of these webs, the second of two hosts lies
			d, truth := newDeclarations(canon.Qiita()), map[string]uint64{}
			synth.NewDeclaring(synth.DeclareOptions{Seed: seed, Lie: lie, Hosts: 2}).Fetches(1, func(f synth.DeclaredFetch) {
				d.add(&logs.Record{URL: f.URL, Digest: fmt.Sprint(f.Page), Canonical: f.Canonical}) // the truth as digest
				truth[f.URL] = f.Page
			})
			s := d.sum().Sources[0]
			if s.Source != "rel=canonical" || s.Saved+s.After != s.Same+s.Different+s.Unknown || s.Same < 50 {
				t.Errorf("%s, seed %d: got %+v; want many merges right", lie, seed, s)
			}
			wrong += s.Different
			for _, w := range s.Wrong {
				if truth[w.URL] == truth[w.Known] {
					t.Errorf("%s: got %s and %s as wrong, which are one page", lie, w.URL, w.Known)
				}
			}
		}
		if (wrong > 0) != (lie != synth.Honest) {
			t.Errorf("%s: got %d wrong merges", lie, wrong)
		}
	}
}

func TestDeclaredMemoryIsBounded(t *testing.T) {
	d := newDeclarations(canon.Qiita())
	d.memory = 100 * declaredPage
	for i := range 1000 {
		d.add(&logs.Record{URL: fmt.Sprintf("http://a.example/%d?x=1", i), Canonical: fmt.Sprintf("http://a.example/%d", i), NoVarySearch: `params=("x")`})
	}
	if got := d.sum(); got.Fetches != 1000 || got.LeftOut < 900 || len(d.pages)+len(d.search) > 100 {
		t.Errorf("got %+v, %d pages; want at most 100", got, len(d.pages))
	}
}
