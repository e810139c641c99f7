package declared

import (
	"reflect"
	"testing"
)

// TestDraftExamples holds ParseNoVarySearch to every example of
// draft-ietf-httpbis-no-vary-search: those of its sections 1, 5.2 and 5.3.
func TestDraftExamples(t *testing.T) {
	for _, c := range []struct {
		field string
		want  Search
	}{
		{`key-order`, Search{AnyOrder: true}},
		{`params=("utm_source" "utm_medium" "utm_campaign")`, Search{Ignored: []string{"utm_campaign", "utm_medium", "utm_source"}}},
		{`except=("productId")`, Search{OnlyListed: true, Matter: []string{"productId"}}},
		{`params=("a")`, Search{Ignored: []string{"a"}}},
		{`except=("x")`, Search{OnlyListed: true, Matter: []string{"x"}}},
		{`params=()`, Search{}},
		{`except=()`, Search{OnlyListed: true}},
		{`key-order=?1`, Search{AnyOrder: true}},
		{`except=("x"), key-order`, Search{AnyOrder: true, OnlyListed: true, Matter: []string{"x"}}},
		{`key-order, except=("x")`, Search{AnyOrder: true, OnlyListed: true, Matter: []string{"x"}}},
		{`key-order=?0`, Search{}},
		{`params=("%C3%A9+%E6%B0%97")`, Search{Ignored: []string{"é 気"}}},
		{`future=1, params=("a")`, Search{Ignored: []string{"a"}}},
	} {
		got, err := ParseNoVarySearch(c.field)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.field, got, err, c.want)
		}
		again, err := ParseNoVarySearch(got.String())
		if !got.IsDefault() && (err != nil || !reflect.DeepEqual(again, got)) {
			t.Errorf("%s: written as %s it is %+v, %v; want the same", c.field, got, again, err)
		}
	}
	for _, invalid := range []string{
		`key-order="not a boolean"`, `params="not an inner list"`, `params=(not-a-string)`, `params=?0`, `params=?1`,
		`params=?1, except=("x")`, `params=("a"), except=("x")`, `params=(), except=()`, `except="not an inner list"`,
		`except=(not-a-string)`, `except=?1`, `params=("a"`,
	} {
		if got, err := ParseNoVarySearch(invalid); err == nil || !got.IsDefault() && got.Ignores("a") {
			t.Errorf("%s: got %+v, %v; want an error", invalid, got, err)
		}
	}
}

// TestDraftEquivalences holds Equivalent to the examples of sections 5.3.1, 6 and 6.1.
func TestDraftEquivalences(t *testing.T) {
	const site = "https://example.com/"
	order := Search{AnyOrder: true}
	for _, c := range [][2]string{
		{"", "?"}, {"?a=x", "?%61=%78"}, {"?a=é", "?a=%C3%A9"}, {"?a=%f6", "?a=%ef%bf%bd"}, {"?a=x&&&&", "?a=x"},
		{"?a=", "?a"}, {"?a=%20", "?a= &"}, {"?a=+", "?a= &"},
	} {
		if !order.Equivalent(site+c[0], site+c[1]) {
			t.Errorf("%q and %q are not equivalent by key-order; want them to be", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{site + "a", site + "a?"}, {site + "foo?a=b&&&c", site + "foo?a=b&c="}} {
		if (Search{}).Equivalent(c[0], c[1]) {
			t.Errorf("%q and %q are equivalent by default; want them not to be", c[0], c[1])
		}
	}
	key := Search{Ignored: []string{"é 気"}}
	for _, url := range []string{"?é 気=1", "?é+気=2", "?%C3%A9%20気=3", "?%C3%A9+%E6%B0%97=4"} {
		if !key.Equivalent(site+url, site) {
			t.Errorf("%q is not equivalent to the page without it", url)
		}
	}
	if order.Equivalent("http://example.com/?a", "https://example.com/?a") || order.Equivalent(site+"a?b", site+"c?b") {
		t.Error("another scheme or path is equivalent; want it not to be")
	}
	if !order.Equivalent(site+"?a=1&b=2&a=3", site+"?b=2&a=1&a=3") || order.Equivalent(site+"?a=1&a=3", site+"?a=3&a=1") {
		t.Error("key-order must not reorder the values of one key")
	}
	except := Search{OnlyListed: true, Matter: []string{"productId"}}
	if !except.Equivalent(site+"?productId=1&x=2", site+"?y=3&productId=1") || except.Equivalent(site+"?productId=1", site+"?productId=2") {
		t.Error("except must compare the parameters it names, and no others")
	}
}

func FuzzNoVarySearch(f *testing.F) {
	f.Add(`key-order, except=("x" "%C3%A9+")`, "https://example.com/?a=1&b=%f6")
	f.Add(`params=("a")`, "?")
	f.Fuzz(func(t *testing.T, field, url string) {
		s, err := ParseNoVarySearch(field)
		if err != nil {
			return
		}
		again, err := ParseNoVarySearch(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is written as %q, which is %q, %v", field, s, again, err)
		}
		if _, _, ok := splitURL(url); ok && !s.Equivalent(url, url) {
			t.Errorf("%q is not equivalent to itself by %q", url, field)
		}
	})
}
