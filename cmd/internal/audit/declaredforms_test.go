package audit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// TestDeclaredAgainstContent: the report has what declarations alone would merge, and counts
// for each rule where they agree with the contents and where they contradict them.
func TestDeclaredAgainstContent(t *testing.T) {
	const n = 30
	l := NewLog()
	add := func(c Capture) {
		t.Helper()
		if err := l.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		page := func(prefix, query, digest, canonical string) Capture {
			return Capture{URL: fmt.Sprintf("%s/%d%s", prefix, i, query), Status: 200, Digest: fmt.Sprint(digest, i), Canonical: canonical}
		}
		named := func(prefix string) string { return fmt.Sprintf("%s/%d", prefix, i) }
		// rightly one page, and wrongly
		add(page("http://www.a.example", "", "a", named("http://a.example")))
		add(page("http://a.example", "", "a", named("http://a.example")))
		add(page("http://www.b.example", "", "b", named("http://b.example")))
		add(page("http://b.example", "", "z", ""))
		// declared to be two, with one content
		add(page("http://www.c.example", "", "c", named("http://www.c.example")))
		add(page("http://c.example", "", "c", named("http://c.example")))
		// nothing is declared
		add(page("http://www.d.example", "", "d", ""))
		add(page("http://d.example", "", "d", ""))
		// parameters
		add(Capture{URL: fmt.Sprintf("http://e.example/p?id=%d&x=1", i), Status: 200, Digest: fmt.Sprint("e", i), NoVarySearch: `params=("x")`})
		add(Capture{URL: fmt.Sprintf("http://e.example/p?id=%d", i), Status: 200, Digest: fmt.Sprint("e", i)})
		add(Capture{URL: fmt.Sprintf("http://f.example/p?id=%d&x=1", i), Status: 200, Digest: fmt.Sprint("f", i)})
		add(Capture{URL: fmt.Sprintf("http://f.example/p?id=%d", i), Status: 200, Digest: fmt.Sprint("y", i)})
	}
	add(Capture{URL: "http://f.example/robots.txt", CleanParam: "x /p"})
	r, err := Run(t.Context(), l, Request{Profile: canon.Qiita()})
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) Verdict {
		t.Helper()
		i := slices.IndexFunc(r.Forms, func(v Verdict) bool { return v.Name == name })
		if i < 0 {
			t.Fatalf("no verdict on %s", name)
		}
		return r.Forms[i]
	}
	for name, want := range map[string][3]int{ // merges, same, different
		"rel=canonical": {2 * n, n, n}, "No-Vary-Search": {n, n, 0}, "Clean-param": {n, 0, n}, "all declarations": {4 * n, 2 * n, 2 * n},
	} {
		v := find(name)
		if got := [3]int{v.Merges, v.Outcomes[Same], v.Outcomes[Different]}; got != want {
			t.Errorf("%s: got merges, same, different %v; want %v", name, got, want)
		}
		if want[2] > 0 && len(v.Examples) == 0 {
			t.Errorf("%s: got no example of what it gets wrong", name)
		}
	}
	none := NewLog()
	if err := none.Add(Capture{URL: "http://a.example/"}); err != nil {
		t.Fatal(err)
	}
	if r, err = Run(t.Context(), none, Request{Profile: canon.Qiita()}); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(r.Forms, func(v Verdict) bool { return v.Kind == BySite }); i >= 0 {
		t.Errorf("got %+v of a log that declares nothing", r.Forms[i])
	}
}
