package main

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
		ours, err := newReference(base)
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
			got, _ := canon.WHATWG().Canonicalize(ours.resolve(ref))
			if got != want {
				t.Errorf("%q on %s: got %s; want %s", ref, base, got, want)
			}
		}
	}
	for _, base := range []string{"", "a/b", "mailto:a@b.example", "http://"} {
		if _, err := newReference(base); err == nil {
			t.Errorf("base %q: got no error", base)
		}
	}
}

// TestWebPlatformReferences resolves every reference of the Web Platform Tests that has a base, whatever
// the scheme of the base.
func TestWebPlatformReferences(t *testing.T) {
	text, err := os.ReadFile("../../canon/testdata/wpt/relative.jsonl")
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
		base, err := parseBase(row.Base)
		got := ""
		if err == nil {
			got, err = canon.WHATWG().Canonicalize(base.resolve(row.Input))
		}
		if got != row.Href || (err != nil) != row.Failure {
			t.Errorf("%q from %q: got %q, %v; want %q", row.Input, row.Base, got, err, row.Href)
		}
	}
	t.Logf("%d references", rows)
}
