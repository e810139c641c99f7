package evidence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/captures"
)

// declaring is an Evidence that trusts hosts, and the profile that it uses.
type declaring struct {
	*Evidence
	profile *canon.Profile
}

func newDeclaring(t *testing.T, opt Options, hosts ...string) *declaring {
	t.Helper()
	d := &declaring{}
	opt.Use = func(p *canon.Profile) error { d.profile = p; return nil }
	d.Evidence = New(opt)
	d.setHosts(t, hosts...)
	return d
}

func (d *declaring) setHosts(t *testing.T, hosts ...string) {
	t.Helper()
	text := []byte(fmt.Sprintf(`{"trust_declared": ["%s"]}`, strings.Join(hosts, `", "`)))
	if len(hosts) == 0 {
		text = nil
	}
	if err := d.SetRules(canon.Qiita(), canon.Qiita(), text); err != nil {
		t.Fatal(err)
	}
}

// fetched offers what the response of a URL declares.
func (d *declaring) fetched(url, search, clean string) {
	d.Offer(&captures.Capture{URL: url, Status: 200, NoVarySearch: search, CleanParam: clean})
}

// adopted adopts what was declared, and reports whether the rules changed.
func (d *declaring) adopted(t *testing.T) bool {
	t.Helper()
	changed, err := d.adopt()
	if err != nil {
		t.Fatal(err)
	}
	return changed
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
		for _, off := range []bool{false, true} {
			d := newDeclaring(t, Options{Off: off}, "a.example", "*.b.example", "日本.jp")
			d.fetched(c.url, c.search, c.clean)
			d.adopted(t)
			want := c.want
			if off {
				want, _ = canon.Qiita().Canonicalize(c.raw)
			}
			if got, err := d.profile.Canonicalize(c.raw); got != want || err != nil {
				t.Errorf("%s, off %v: got %s, %v; want %s", name, off, got, err, want)
			}
			if s := d.Stats(); s.Refused != 0 || off && s != (Stats{}) {
				t.Errorf("%s, off %v: got %+v", name, off, s)
			}
		}
	}
}

// TestWhatCannotBeUsedIsCounted: a declaration that is left out is counted, once however often it is made, and its neighbours
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
		d := newDeclaring(t, Options{}, "*")
		for range 3 {
			d.fetched(c.url, c.search, c.clean)
			d.adopted(t)
		}
		if s := d.Stats(); s.Rules != c.rules || s.Refused != 1 || s.Last == nil {
			t.Errorf("%s: got %+v; want %d rules and 1 left out", name, s, c.rules)
		}
		if c.rules == 0 && d.rules.size != 0 {
			t.Errorf("%s: got %d bytes kept of what is no rule", name, d.rules.size)
		}
	}
}

// TestPathsOfOtherProfiles: a path that Qiita would write otherwise has a rule.
func TestPathsOfOtherProfiles(t *testing.T) {
	slashes, err := canon.Qiita().With(canon.Enable(canon.KeepDuplicateSlashes))
	if err != nil {
		t.Fatal(err)
	}
	d := newDeclaring(t, Options{Profile: func() *canon.Profile { return slashes }}, "*")
	for _, path := range []string{"/p", "//p", "/p//"} {
		d.fetched("https://a.example"+path, `params=("x")`, "")
	}
	d.adopted(t)
	if s := d.Stats(); s.Rules != 3 || s.Refused != 0 {
		t.Errorf("got %+v; want three rules", s)
	}
}

// TestRulesAreReplacedSavedAndForgotten: the latest declaration of a place counts, the same one again changes nothing, another
// process goes on with it, and what is declared by hosts that are no longer trusted ends, also in the file.
func TestRulesAreReplacedSavedAndForgotten(t *testing.T) {
	opt := Options{Saved: filepath.Join(t.TempDir(), "declared.json")}
	d := newDeclaring(t, opt, "a.example", "b.example")
	d.fetched("https://a.example/p", `params=("x")`, "")
	d.fetched("https://a.example/p", `params=("y")`, "")
	d.fetched("https://b.example/robots.txt", "", "s\nt")
	if list := d.Declared(); len(list) != 0 {
		t.Errorf("got %+v before it is adopted", list)
	}
	if !d.adopted(t) {
		t.Error("got no change")
	}
	if list := d.Declared(); len(list) != 2 || !slices.Equal(list[0].Entries[0].Drop, []string{"y"}) {
		t.Fatalf("got %+v; want the latest declaration", list)
	}
	d.fetched("https://a.example/p", `params=("y")`, "")
	if d.adopted(t) {
		t.Error("got a change by the same declaration")
	}
	off := newDeclaring(t, Options{Saved: opt.Saved, Off: true}, "b.example")
	if s := off.Stats(); s.Rules != 0 {
		t.Errorf("got %+v; want nothing adopted", s)
	}
	again := newDeclaring(t, opt, "b.example")
	if got, err := again.profile.Canonicalize("https://b.example/?s=1&t=2"); got != "https://b.example/" || err != nil {
		t.Errorf("got %s, %v; want the two rules of the host that is trusted", got, err)
	}
	again.fetched("https://b.example/robots.txt", "", "s\nt")
	if again.adopted(t) {
		t.Error("got a change by what was saved")
	}
	again.setHosts(t)
	if s := again.Stats(); s.Rules != 0 || again.rules.size != 0 || again.profile != again.file.with {
		t.Errorf("got %+v, %d bytes; want nothing of hosts that are not trusted", s, again.rules.size)
	}
	if text, err := os.ReadFile(opt.Saved); err != nil || strings.Contains(string(text), "b.example") {
		t.Errorf("got %s, %v; want it forgotten", text, err)
	}
}

// TestUnsavedRulesAreNotUsed: while rules cannot be saved, none of them is in use, also after a reload; once they can, they are.
func TestUnsavedRulesAreNotUsed(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "later", "declared.json")
	d := newDeclaring(t, Options{Saved: saved}, "a.example")
	d.fetched("https://a.example/p", `params=("x")`, "")
	check := func(want string) {
		t.Helper()
		if got, err := d.profile.Canonicalize("https://a.example/p?x=1"); got != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	for range 2 {
		if _, err := d.adopt(); err == nil {
			t.Error("got no error of a file that cannot be written")
		}
		if err := d.SetRules(canon.Qiita(), canon.Qiita(), []byte(`{"trust_declared": ["*"]}`)); err == nil {
			t.Error("got no error of a reload while rules cannot be saved")
		}
		check("https://a.example/p?x=1")
	}
	if err := os.Mkdir(filepath.Dir(saved), 0o700); err != nil {
		t.Fatal(err)
	}
	if !d.adopted(t) || d.adopted(t) {
		t.Error("want the rules adopted, once")
	}
	check("https://a.example/p")
	if text, err := os.ReadFile(saved); err != nil || !strings.Contains(string(text), "a.example") {
		t.Errorf("got %s, %v; want it saved", text, err)
	}
}

// TestReloadThatFailsChangesNothing: neither the trusted hosts nor the rule file, if the saved rules are damaged or the new profile
// is refused; and what stays in use is saved again.
func TestReloadThatFailsChangesNothing(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "declared.json")
	if err := os.WriteFile(saved, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDeclaring(t, Options{Saved: saved})
	was := d.file
	other := canon.None()
	if err := d.SetRules(other, other, []byte(`{"trust_declared": ["*"]}`)); err == nil || d.Stats().Hosts != 0 || d.file.with != was.with || d.Wants() {
		t.Errorf("got %v, %+v; want an error and no trusted host", err, d.Stats())
	}
	if err := os.Remove(saved); err != nil {
		t.Fatal(err)
	}
	d.setHosts(t, "a.example")
	d.fetched("https://a.example/p", `params=("x")`, "")
	d.adopted(t)
	use := d.opt.Use
	d.opt.Use = func(*canon.Profile) error { return os.ErrInvalid }
	if err := d.SetRules(other, other, nil); err == nil || d.Stats().Rules != 1 || d.file.with != was.with {
		t.Errorf("got %v, %+v; want an error and the rules of before", err, d.Stats())
	}
	d.opt.Use = use
	d.adopted(t)
	if text, err := os.ReadFile(saved); err != nil || !strings.Contains(string(text), "a.example") {
		t.Errorf("got %s, %v; want the rules in use saved", text, err)
	}
}

// TestOneRuleIsRevoked: a rule that an operator revoked is out of use while its neighbours are used, also after a restart and when it is
// declared again, until that is taken back.
func TestOneRuleIsRevoked(t *testing.T) {
	opt := Options{Saved: filepath.Join(t.TempDir(), "declared.json")}
	d := newDeclaring(t, opt, "a.example")
	check := func(want string, rules int) {
		t.Helper()
		if got, err := d.profile.Canonicalize("https://a.example/p?s=1&t=2"); got != "https://a.example/p"+want || err != nil || d.Stats().Rules != rules {
			t.Errorf("got %s, %v, %d rules; want %s, %d", got, err, d.Stats().Rules, want, rules)
		}
	}
	d.fetched("https://a.example/robots.txt", "", "s /p\nt /\nu /x")
	d.adopted(t)
	check("", 3)
	if is, err := d.Revoke("a.example", "", "/p", true); err != nil || len(is.Entries) != 3 || !slices.Equal(is.Revoked, []string{"/p"}) {
		t.Errorf("got %+v, %v; want one of three revoked", is, err)
	}
	check("?s=1", 2)
	d.fetched("https://a.example/robots.txt", "", "t /")
	d.adopted(t)
	check("?s=1", 1)
	d.fetched("https://a.example/robots.txt", "", "s /p\nt /")
	d.adopted(t)
	check("?s=1", 1)
	d = newDeclaring(t, opt, "a.example")
	check("?s=1", 1)
	for _, c := range [][3]string{{"a.example", "", "/q"}, {"a.example", "/p", "/p"}, {"b.example", "", "/p"}} {
		if _, err := d.Revoke(c[0], c[1], c[2], true); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: got %v; want ErrNotFound", c, err)
		}
	}
	use := d.opt.Use
	d.opt.Use = func(*canon.Profile) error { return os.ErrInvalid }
	if _, err := d.Revoke("a.example", "", "/p", false); err == nil {
		t.Error("got no error of a profile that cannot be used")
	}
	d.opt.Use = use
	d.adopted(t)
	check("?s=1", 1)
	if _, err := d.Revoke("a.example", "", "/p", false); err != nil {
		t.Error(err)
	}
	check("", 2)
}

func TestMemoryOfDeclarationsIsBounded(t *testing.T) {
	d := newDeclaring(t, Options{}, "*")
	long := strings.Repeat("n", 7000)
	for i := range 1000 {
		d.fetched(fmt.Sprintf("https://a.example/%d", i), `params=("`+long+`")`, "")
	}
	for i := range 1000 {
		d.fetched(fmt.Sprintf("https://a.example/%d", i), `params=("`+long+`")`, "")
	}
	d.adopted(t)
	if s := d.Stats(); d.rules.size > maxDeclared || s.Rules < 500 || s.Refused != 1000-int64(s.Rules) {
		t.Errorf("got %d bytes, %d rules, %d left out", d.rules.size, s.Rules, s.Refused)
	}
}
