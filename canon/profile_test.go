package canon

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/net/idna"

	"github.com/firstseen/firstseen/internal/uts46"
)

func TestParseProfileReadsWhatStringWrites(t *testing.T) {
	for _, spec := range []string{
		"qiita", "whatwg", "hashed-n", "hashed-p", "c14n", "scrapy", "safebrowsing", "surt", "none",
		"qiita:+strip-www,-collapse-slashes", "qiita:+keep-hashbang,+strip-tracking-params,lists=2,max=100", "qiita:+strip-www,max=100",
	} {
		p, err := ParseProfile(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		name, _, _ := strings.Cut(spec, ":")
		if p.String() != spec || p.Name() != name || p.Version() < 1 {
			t.Errorf("%s: got %s, named %s, version %d", spec, p, p.Name(), p.Version())
		}
	}
}

// TestRulesOfAFileAreRulesAsTyped: a file that only switches rules, and comments on them,
// makes the profile that the rules make when typed, of the same name.
func TestRulesOfAFileAreRulesAsTyped(t *testing.T) {
	for file, name := range map[string]string{
		`{}`: "qiita",
		`{"comment": "none", "rules": [], "params": [], "sites": []}`: "qiita",
		`{"rules": ["+strip-www"]}`:                                   "qiita:+strip-www",
		`{"rules": ["+scoped-params"], "sites": []}`:                  "qiita",
	} {
		before := WithRuleFile(strings.NewReader(lawRuleFile)) // goes, with all it says
		p, err := Qiita().With(before, WithRuleFile(strings.NewReader(file)), Enable(ScopedParams))
		if err != nil || p.String() != name {
			t.Errorf("%s: got %s, %v; want %s", file, p, err, name)
			continue
		}
		if back, err := ParseProfile(p.String()); err != nil || back.String() != name {
			t.Errorf("%s: got %s back, %v; want %s", file, back, err, name)
		}
	}
}

func TestParseProfileRefuses(t *testing.T) {
	for _, spec := range []string{"", "Qiita", "qiita:+nope", "qiita:file=00", "qiita:max=0", "qiita:max=x", "none:+strip-www"} {
		if p, err := ParseProfile(spec); err == nil {
			t.Errorf("%q: got %s; want an error", spec, p)
		}
	}
}

func TestOptionsApplyInOrder(t *testing.T) {
	p, err := Qiita().With(Enable(StripWWW, KeepFragment), Disable(StripWWW), Enable(StripWWW), Disable(KeepFragment))
	if err != nil || p.String() != "qiita:+strip-www" {
		t.Errorf("got %s, %v; want qiita:+strip-www", p, err)
	}
	back, err := p.WithRules("-strip-www")
	if err != nil || back.String() != "qiita" {
		t.Errorf("got %s, %v; want qiita", back, err)
	}
	if Qiita().String() != "qiita" {
		t.Error("deriving changed the preset")
	}
}

func TestRulesAreDocumented(t *testing.T) {
	seen := map[Rule]bool{}
	for _, r := range AllRules() {
		if r.Rule == "" || r.Does == "" || r.Source == "" || seen[r.Rule] {
			t.Errorf("got %+v; want a name of its own, what it does, and a source", r)
		}
		if r.Optional && r.Risk == "" && r.Rule != KeepHashbang {
			t.Errorf("%s: no risk given", r.Rule)
		}
		if on := slices.Contains(Qiita().Rules(), r); on != r.Default {
			t.Errorf("%s: got on %t in the preset; want %t", r.Rule, on, r.Default)
		}
		seen[r.Rule] = true
	}
}

// TestListsAreWellFormed looks at what the look-ups rely on, and that a version only adds to the
// one before.
func TestListsAreWellFormed(t *testing.T) {
	for _, r := range listRules.names() {
		var before []Param
		for version := 1; version <= newestLists; version++ {
			list := listUpTo(version, r)
			if !slices.Equal(list[:len(before)], before) {
				t.Errorf("%s: version %d does not begin with version %d", r, version, version-1)
			}
			before = list
			for _, p := range list {
				name := strings.TrimSuffix(p.Name, "*")
				isName := name != "" && name == strings.ToLower(name) && len(name) <= longestKnown
				if !isName && !p.Path || p.Source == "" || p.Date == "" || p.Since < 1 || p.Since > version {
					t.Errorf("%s: got %+v; want a lower-case name of up to %d bytes, a source and a version", r, p, longestKnown)
				}
				if !slices.Contains([]string{"", "digits", "id32", "id16"}, p.Value) {
					t.Errorf("%s: got values %q", p.Name, p.Value)
				}
			}
		}
	}
}

// TestCompareUnderFixedProfiles wants the one name that a profile without rules has.
func TestCompareUnderFixedProfiles(t *testing.T) {
	c, err := WHATWG().Compare("HTTP://h/", "http://h")
	if err != nil || !c.Same || !slices.Equal(c.Rules, []Rule{"whatwg"}) || c.Missing != nil {
		t.Errorf("got %+v, %v; want one form by whatwg", c, err)
	}
	c, err = WHATWG().Compare("http://h/a", "http://h/b")
	if err != nil || c.Same || c.Rules != nil || c.Missing != nil {
		t.Errorf("got %+v, %v; want two forms", c, err)
	}
}

// TestComparedRulesMerge holds Compare to its word: the rules that it names, and no others,
// make the two URLs one, and none of them can be spared.
func TestComparedRulesMerge(t *testing.T) {
	seeds := append([]string{"http://h/a/index.html///index.php"}, lawSeeds...)
	for _, bits := range []uint32{0, ^uint32(0), 0x5555, 0xaaaa, 0x3333} {
		p := subset(t, bits)
		for _, raw := range seeds {
			if form, err := p.Canonicalize(raw); err == nil {
				checkCompared(t, p, raw, form)
			}
		}
	}
}

func checkCompared(t *testing.T, p *Profile, a, b string) {
	t.Helper()
	q := p.qiita
	c, err := p.Compare(a, b)
	if err != nil || !c.Same {
		t.Fatalf("%s of %q and %q: got same %t, %v; want one form", p, a, b, c.Same, err)
	}
	var named ruleSet
	for _, r := range c.Rules {
		named = named.with(findRule(r))
	}
	if !q.equalUnder(named, a, b) {
		t.Errorf("%s of %q and %q: got %v, which don't merge them", p, a, b, c.Rules)
	}
	for _, id := range named.ids() {
		if q.equalUnder(named.without(id), a, b) {
			t.Errorf("%s of %q and %q: got %v; want it without %s", p, a, b, c.Rules, rules[id].Rule)
		}
	}
}

func TestHostOfCanonicalForms(t *testing.T) {
	for _, c := range []struct {
		in, host string
		unicode  bool
	}{
		{"http://example.com/a@b", "example.com", false},
		{"https://u:p@h:8080/?x", "h:8080", false},
		{"ftp://[::1]:21/", "[::1]:21", false},
		{"http://a.xn--wgv71a119e.jp/", "a.xn--wgv71a119e.jp", true},
		{"http://axn--b.c/xn--d", "axn--b.c", false},
		{"http://h", "h", false},
		{"mailto:a@b", "", false},
		{"com,example)/a", "", false},
		{"", "", false},
		{"http://", "", false},
		{"ws://xn--wgv71a119e.jp/a", "xn--wgv71a119e.jp", true},
		{"wss://u@h:1?x", "h:1", false},
		{"file:///xn--a", "", false},
		{"file://xn--wgv71a119e.jp/", "", true},
		{"x://xn--wgv71a119e.jp#a", "", true},
		{"//日本.jp/", "", true},
		{"http://日本.jp/", "日本.jp", true},
		{"http://ü@h/", "h", true},
		{"http://%20@h/%20", "h", false},
		{"http://%E6%97%A5.jp/", "%E6%97%A5.jp", true},
		{"http://h/日本//xn--a", "h", false},
		{"日本//xn--a", "", false},
		{"mailto:a//xn--b", "", false},
	} {
		got := Host([]byte(c.in))
		if string(got) != c.host || (got == nil) != (c.host == "") || hasUnicodeHost([]byte(c.in)) != c.unicode {
			t.Errorf("%q: got host %q, Unicode %t; want %q, %t", c.in, got, hasUnicodeHost([]byte(c.in)), c.host, c.unicode)
		}
	}
	if Qiita().UnicodeVersion() != uts46.UnicodeVersion || Scrapy().UnicodeVersion() != idna.UnicodeVersion {
		t.Errorf("got Unicode versions %s of qiita and %s of scrapy; want %s and %s", Qiita().UnicodeVersion(), Scrapy().UnicodeVersion(), uts46.UnicodeVersion, idna.UnicodeVersion)
	}
}

// TestFormsThatDependOnUnicode goes through the profiles that map hosts or leave them
// Unicode: HasUnicodeHost must see each, or a store would take keys of other tables.
func TestFormsThatDependOnUnicode(t *testing.T) {
	for _, name := range []string{"qiita", "whatwg", "safebrowsing", "c14n", "scrapy", "purell:safe"} {
		for _, raw := range []string{"http://Bücher.de:80/", "ws://u@bücher.de/x", "file://bücher.de/", "ftp://bücher.de?x", "http://\u1c89.de/"} {
			p, err := ParseProfile(name)
			if err != nil {
				t.Fatal(err)
			}
			form, err := p.AppendCanonical(nil, []byte(raw))
			if err == nil && !hasUnicodeHost(form) {
				t.Errorf("%s of %q: got %q, which no Unicode version seems to matter for", name, raw, form)
			}
		}
	}
}

func TestLengthIsBounded(t *testing.T) {
	p, err := Qiita().With(WithMaxLength(20))
	if err != nil {
		t.Fatal(err)
	}
	for in, code := range map[string]string{
		"http://h/" + strings.Repeat("a", 11):               "",
		"http://h/" + strings.Repeat("a", 12):               "too-long",
		"http://h/" + strings.Repeat(" ", 3) + "b":          "",
		"http://h/" + strings.Repeat(" ", 4) + "b":          "too-long", // three bytes for each blank
		`http:\\h\` + strings.Repeat(" ", 4) + "b":          "too-long",
		"http://h/" + strings.Repeat("a", 5) + "#long long": "too-long",
	} {
		got, err := p.AppendCanonical(nil, []byte(in))
		if Code(err) != code || len(got) > 20 {
			t.Errorf("%q: got %q, %v; want code %q", in, got, err, code)
		}
		if _, err := p.Explain(in); Code(err) != code {
			t.Errorf("%q explained: got %v; want code %q", in, err, code)
		}
	}
}

func TestCodes(t *testing.T) {
	for err, code := range map[error]string{
		nil: "", ErrURL: "url", ErrScheme: "scheme", ErrTooLong: "too-long",
		fmt.Errorf("x: %w", ErrScheme): "scheme", errors.New("other"): "url",
	} {
		if got := Code(err); got != code {
			t.Errorf("%v: got %q; want %q", err, got, code)
		}
	}
}

func TestCanonicalizeDoesNotCopyWhatIsCanonical(t *testing.T) {
	p := Qiita()
	for _, raw := range []string{"http://example.com/a/b?c=1&d=2", "https://example.com/x#top", "http://xn--wgv71a119e.jp/", "http://127.0.0.1/"} {
		got, err := p.Canonicalize(raw)
		if err != nil || len(got) == 0 || unsafe.StringData(got) != unsafe.StringData(raw) {
			t.Errorf("%q: got %q, %v; want a part of the input itself", raw, got, err)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	p, dst := Qiita(), make([]byte, 0, 4096)
	for _, raw := range [][]byte{
		[]byte("http://example.com/a/b?c=1&d=2"),
		[]byte("https://example.com/a//b/../%7ec?d=1&c&b=%20&a=" + strings.Repeat("x", 300)),
	} {
		if n := testing.AllocsPerRun(100, func() { dst, _ = p.AppendCanonical(dst[:0], raw) }); n != 0 {
			t.Errorf("%q: got %v allocations; want none", raw, n)
		}
	}
}

func TestProfilesAreSafeForConcurrentUse(t *testing.T) {
	p, err := Qiita().With(Enable(StripTrackingParams), WithRuleFile(strings.NewReader(lawRuleFile)))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var dst []byte
			for _, s := range lawSeeds {
				want, wantErr := p.Canonicalize(s)
				dst, err := p.AppendCanonical(dst[:0], []byte(s))
				if !bytes.Equal(dst, []byte(want)) || Code(err) != Code(wantErr) {
					t.Errorf("%q: got %q, %v; want %q, %v", s, dst, err, want, wantErr)
				}
			}
		})
	}
	wg.Wait()
}

// TestListsOfAStore: what a profile becomes beside one that a store recorded.
func TestListsOfAStore(t *testing.T) {
	for _, c := range []struct{ typed, recorded, want string }{
		{"qiita:+strip-index", "qiita:+strip-index", "qiita:+strip-index"},
		{"qiita:+strip-index", "", "qiita:+strip-index,lists=2"},
		{"qiita:+strip-index", "qiita", "qiita:+strip-index,lists=2"},
		{"qiita:+strip-index", "whatwg", "qiita:+strip-index,lists=2"},
		{"qiita:+strip-index", "qiita:+strip-index,lists=2", "qiita:+strip-index,lists=2"},
		{"qiita:+strip-index", "qiita:+strip-index,lists=99", "qiita:+strip-index,lists=2"},
		{"qiita:+strip-index,lists=2", "qiita:+strip-index", "qiita:+strip-index,lists=2"},
		{"qiita:+strip-index,lists=1", "qiita:+strip-index,lists=2", "qiita:+strip-index"},
		{"qiita:+strip-session-ids,-sort-query", "qiita:+strip-tracking-params,file=1234", "qiita:+strip-session-ids,-sort-query"},
		{"qiita:+strip-www", "qiita:+strip-www", "qiita:+strip-www"},
		{"surt", "qiita:+strip-index", "surt"},
	} {
		p, err := ParseProfile(c.typed)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.WithListsOf(c.recorded).String(); got != c.want {
			t.Errorf("%s in a store of %q: got %s; want %s", c.typed, c.recorded, got, c.want)
		}
	}
	if p, err := ParseRecorded("qiita:+strip-index"); err != nil || p.String() != "qiita:+strip-index" {
		t.Errorf("got %s, %v; want version 1 of the lists", p, err)
	}
	if p, err := ParseProfile("qiita:+strip-index,lists=3"); err == nil {
		t.Errorf("got %s; want no version 3", p)
	}
}
