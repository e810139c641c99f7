package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// profile makes the profile of the entries.
func profile(t *testing.T, r *Rules) *canon.Profile {
	t.Helper()
	entries := []Entry{}
	for _, s := range r.Save() {
		entries = append(entries, s.Entries...)
	}
	text, err := json.Marshal(map[string][]Entry{"params": entries})
	if err != nil {
		t.Fatal(err)
	}
	p, err := canon.Qiita().With(canon.WithRuleFile(bytes.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDeclarationsBecomeRules(t *testing.T) {
	for name, c := range map[string]struct {
		url, search, clean string
		raw, want          string
	}{
		"params":           {"https://a.example/p?x=1", `params=("x" "y z")`, "", "https://a.example/p?a=1&x=2&y+z=3&y%20z=4", "https://a.example/p?a=1"},
		"another path":     {"https://a.example/p?x=1", `params=("x")`, "", "https://a.example/p/q?x=2", "https://a.example/p/q?x=2"},
		"except":           {"https://a.example/p", `except=("id")`, "", "https://a.example/p?id=1&x=2", "https://a.example/p?id=1"},
		"except nothing":   {"https://a.example/", `except=()`, "", "https://a.example?id=1&x=2", "https://a.example/"},
		"an escaped name":  {"https://a.example/p", `params=("a%26b")`, "", "https://a.example/p?a%26b=1&b=2", "https://a.example/p?b=2"},
		"the order":        {"https://a.example/p", `key-order`, "", "https://a.example/p?b=1&a=2", "https://a.example/p?a=2&b=1"},
		"a port":           {"https://a.example:8443/p", `params=("x")`, "", "https://a.example:8443/p?x=1", "https://a.example:8443/p"},
		"below a domain":   {"https://x.b.example/p", `params=("x")`, "", "https://x.b.example/p?x=1", "https://x.b.example/p"},
		"the domain":       {"https://b.example/p", `params=("x")`, "", "https://b.example/p?x=1", "https://b.example/p?x=1"},
		"not trusted":      {"https://c.example/p", `params=("x")`, "", "https://c.example/p?x=1", "https://c.example/p?x=1"},
		"an IDN":           {"https://日本.jp/p", `params=("x")`, "", "https://日本.jp/p?x=1", "https://xn--wgv71a.jp/p"},
		"Clean-param":      {"https://a.example/robots.txt", "", "s&ref /forum*/show.php", "https://a.example/forum_old/show.php?s=1&t=2&ref=3", "https://a.example/forum_old/show.php?t=2"},
		"of all paths":     {"https://a.example/robots.txt", "", "s", "https://a.example/x/?s=1", "https://a.example/x/"},
		"not a robots.txt": {"https://a.example/p", "", "s", "https://a.example/p?s=1", "https://a.example/p?s=1"},
	} {
		r := New()
		r.Trust([]string{"a.example", "*.b.example", "日本.jp"})
		r.Offer(canon.Qiita(), c.url, c.search, c.clean)
		if got, err := profile(t, r).Canonicalize(c.raw); got != c.want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, c.want)
		}
		if s := r.Stats(); s.Refused != 0 {
			t.Errorf("%s: got %d left out: %v", name, s.Refused, s.Last)
		}
	}
}

// TestWhatCannotBeUsedIsCounted: a declaration that is left out is counted, and its neighbours
// are used.
func TestWhatCannotBeUsedIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		url, search, clean string
		rules              int
	}{
		"broken":              {"https://a.example/p", `params=x`, "", 0},
		"a name that matters": {"https://a.example/p", `except=("a*")`, "", 0},
		"a name among others": {"https://a.example/p", `params=("a*" "b")`, "", 1},
		"a path":              {"https://a.example/p*", `params=("b")`, "", 0},
		"a pattern":           {"https://a.example/robots.txt", "", "a /x?b\nb /y", 1},
		"dot segments":        {"https://a.example/robots.txt", "", "a /../x", 0},
		"an end":              {"https://a.example/robots.txt", "", "a /x$", 0},
		"an asterisk":         {"https://a.example/robots.txt", "", "a*", 0},
	} {
		r := New()
		r.Trust([]string{"*"})
		r.Offer(canon.Qiita(), c.url, c.search, c.clean)
		if s := r.Stats(); s.Rules != c.rules || s.Refused != 1 || s.Last == nil {
			t.Errorf("%s: got %+v; want %d rules and 1 left out", name, s, c.rules)
		}
		profile(t, r) // must not fail
	}
}

// TestPathsOfOtherProfiles: a path that Qiita would write otherwise is checked like any entry.
func TestPathsOfOtherProfiles(t *testing.T) {
	slashes, err := canon.Qiita().With(canon.Enable(canon.KeepDuplicateSlashes))
	if err != nil {
		t.Fatal(err)
	}
	r := New()
	r.Trust([]string{"*"})
	for _, path := range []string{"/p", "//p", "/p//"} {
		if got, want := isPlace("a.example", path), path == "/p"; got != want {
			t.Errorf("%s: got %v; want %v", path, got, want)
		}
		r.Offer(slashes, "https://a.example"+path, `params=("x")`, "")
	}
	if s := r.Stats(); s.Rules != 3 || s.Refused != 0 {
		t.Errorf("got %+v; want three rules", s)
	}
	profile(t, r) // must not fail
}

// TestFieldsAreReadOnce: the second path with the same field has a rule of its own, and any number
// of fields takes bounded memory.
func TestFieldsAreReadOnce(t *testing.T) {
	r := New()
	r.Trust([]string{"*"})
	for i := range 3 * maxFields {
		for _, path := range []string{"p", "q"} {
			r.Offer(canon.Qiita(), fmt.Sprintf("https://a.example/%s%d", path, i), fmt.Sprintf(`params=("x%d")`, i), "")
		}
	}
	r.Offer(canon.Qiita(), "https://a.example/long", `params=("`+strings.Repeat("n", maxField)+`")`, "")
	if s := r.Stats(); s.Rules != 6*maxFields+1 || s.Refused != 0 || len(r.fields) > maxFields {
		t.Errorf("got %+v, %d fields remembered; want at most %d", s, len(r.fields), maxFields)
	}
	for text := range r.fields {
		if len(text) > maxField {
			t.Errorf("got a field of %d bytes remembered", len(text))
		}
	}
	got, err := profile(t, r).Canonicalize("https://a.example/q7?x7=1&x8=2")
	if want := "https://a.example/q7?x8=2"; got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestRulesAreReplacedSavedAndLifted(t *testing.T) {
	r := New()
	r.Trust([]string{"a.example", "b.example"})
	r.Offer(canon.Qiita(), "https://a.example/p", `params=("x")`, "")
	r.Offer(canon.Qiita(), "https://a.example/p", `params=("y")`, "")
	r.Offer(canon.Qiita(), "https://b.example/robots.txt", "", "s\nt")
	saved := r.Save()
	if len(saved) != 2 || !slices.Equal(saved[0].Entries[0].Drop, []string{"y"}) {
		t.Fatalf("got %+v; want the latest declaration", saved)
	}
	select {
	case <-r.Changed():
	default:
		t.Error("got no sign of the change")
	}
	r.Offer(canon.Qiita(), "https://a.example/p", `params=("y")`, "")
	select {
	case <-r.Changed():
		t.Error("got a change by the same declaration")
	default:
	}
	again := New()
	again.Trust([]string{"b.example"})
	again.Load(saved)
	if s := again.Stats(); s.Rules != 2 {
		t.Errorf("got %+v; want the two rules of the host that is trusted", s)
	}
	again.Trust(nil)
	if s := again.Stats(); s.Rules != 0 || again.text != 0 {
		t.Errorf("got %+v, %d bytes; want nothing of hosts that are not trusted", s, again.text)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	r := New()
	r.Trust([]string{"*"})
	long := strings.Repeat("n", 7000)
	for i := range 1000 {
		r.Offer(canon.Qiita(), fmt.Sprintf("https://a.example/%d", i), `params=("`+long+`")`, "")
	}
	if s := r.Stats(); r.text > MaxText || s.Rules < 500 || s.Refused != 1000-int64(s.Rules) {
		t.Errorf("got %d bytes, %d rules, %d left out", r.text, s.Rules, s.Refused)
	}
}
