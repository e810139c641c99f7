package canon_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nlnwa/whatwg-url/url"

	"github.com/firstseen/firstseen/canon"
)

// TestReferencesAreThoseOfTheURLStandard compares with a parser of the URL Standard, by the
// canonical forms.
func TestReferencesAreThoseOfTheURLStandard(t *testing.T) {
	parser := url.NewParser()
	for _, base := range []string{"http://a.example", "https://u:p@A.example:8080/b/c/d;p?q=1&x=/y#f", "http://a.example/b/c/?x", "http://a.example/b/../c"} {
		ours, err := canon.ParseBase(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range []string{
			"", "g", "./g", "g/", "/g", "//g.example", "//g.example/x?y#z", "?y", "g?y", "#s", "g#s", "g?y#s", ";x", "g;x", "..", "../g", "../..", "../../../g",
			"/./g", "/../g", "g.", "..g", "./../g", "g;x=1/../y", "g?y/../x", "g#s/../x", "http:g", "HTTPS:g", "http:/g", "http:?y", "http://other.example/", "https:x",
			`\g`, `\\g.example\x`, `g\h`, `g?a\b`, " g\t ", "g\nh", "a:b", "mailto:a@b.example", "javascript:x", "1:2", "%2e%2e/g", "http://[::1", "x y", "\u00fc",
		} {
			want := ""
			if u, err := parser.ParseRef(base, ref); err == nil {
				want, _ = canon.WHATWG().Canonicalize(u.Href(false)) // refused by both, or by neither
			}
			got, _ := canon.WHATWG().Canonicalize(ours.Resolve(ref))
			if got != want {
				t.Errorf("%q on %s: got %s; want %s", ref, base, got, want)
			}
		}
	}
	for _, base := range []string{"", "a/b", "mailto:a@b.example", "http://"} {
		if b, err := canon.ParseBase(base); err == nil && !b.Opaque() {
			t.Errorf("base %q: got no error", base)
		}
	}
}

// TestWebPlatformReferences resolves every reference of the Web Platform Tests that has a base, whatever
// the scheme of the base.
func TestWebPlatformReferences(t *testing.T) {
	text, err := os.ReadFile("testdata/wpt/relative.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		var row struct {
			Input, Base, Href string
			Failure           bool
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows++
		base, err := canon.ParseBase(row.Base)
		got := ""
		if err == nil {
			got, err = canon.WHATWG().Canonicalize(base.Resolve(row.Input))
		}
		if got != row.Href || (err != nil) != row.Failure {
			t.Errorf("%q from %q: got %q, %v; want %q", row.Input, row.Base, got, err, row.Href)
		}
	}
	t.Logf("%d references", rows)
}

// TestResolve are examples of RFC 3986, sections 5.4.1 and 5.4.2, and some of other bases. A result is a
// text: canonicalizing would hide which dots are left.
func TestResolve(t *testing.T) {
	const base = "http://a/b/c/d;p?q"
	for _, c := range []struct{ base, ref, want string }{
		{base, "g", "http://a/b/c/g"}, {base, "./g", "http://a/b/c/g"}, {base, "g/", "http://a/b/c/g/"}, {base, "/g", "http://a/g"},
		{base, "//g", "http://g"}, {base, "?y", "http://a/b/c/d;p?y"}, {base, "g?y", "http://a/b/c/g?y"}, {base, "#s", "http://a/b/c/d;p?q#s"},
		{base, "g#s", "http://a/b/c/g#s"}, {base, ";x", "http://a/b/c/;x"}, {base, "", base}, {base, ".", "http://a/b/c/"}, {base, "./", "http://a/b/c/"},
		{base, "..", "http://a/b/"}, {base, "../g", "http://a/b/g"}, {base, "../..", "http://a/"}, {base, "../../g", "http://a/g"},
		{base, "../../../g", "http://a/g"}, {base, "/./g", "http://a/g"}, {base, "/../g", "http://a/g"}, {base, "g.", "http://a/b/c/g."}, {base, "..g", "http://a/b/c/..g"},
		{base, "./g/.", "http://a/b/c/g/"}, {base, "g/../h", "http://a/b/c/h"}, {base, "g;x=1/../y", "http://a/b/c/y"}, {base, "g?y/../x", "http://a/b/c/g?y/../x"},
		{"http://a", "g", "http://a/g"}, {"http://a", "?q", "http://a/?q"}, {"http://a", "#f", "http://a/#f"}, {"file:/x/y", "z", "file:///x/z"}, {"mailto:a@b", "#f", "mailto:a@b#f"},
		{base, "//g/../h?y", "http://g/h?y"}, {base, "100%", "http://a/b/c/100%"}, {base, "x y", "http://a/b/c/x y"}, {base, "mailto:a@b", "mailto:a@b"},
		{"mailto:a@b", "g", "g"}, {"x:/a/b", "../../c", "x:/a/../../c"}, {"x:/.//a", "/c", "x:/c"}, {"x://h", "g", "x://h/g"},
	} {
		b, err := canon.ParseBase(c.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Resolve(c.ref); got != c.want {
			t.Errorf("%q against %q: got %q; want %q", c.ref, c.base, got, c.want)
		}
	}
}
