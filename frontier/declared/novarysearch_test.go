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

// TestDraftNames holds Ignores and Names to the examples of names in sections 5.3.1 and 6.
func TestDraftNames(t *testing.T) {
	key := Search{Ignored: []string{"é 気", "ö"}}
	for _, name := range []string{"é 気", "é+気", "%C3%A9%20気", "%C3%A9+%E6%B0%97", "%c3%b6"} {
		if !key.Ignores(name) {
			t.Errorf("%q is not ignored", name)
		}
	}
	if key.Ignores("%f6") || !(Search{Ignored: []string{"\ufffd"}}).Ignores("%f6") {
		t.Errorf("%q is not read as the replacement character", "%f6")
	}
	except := Search{OnlyListed: true, Matter: []string{"productId"}}
	if except.Ignores("product%49d") || !except.Ignores("x") || !except.Names("product%49d") || except.Names("x") {
		t.Error("except must name the parameters that matter, and no others")
	}
}

func FuzzNoVarySearch(f *testing.F) {
	f.Add(`key-order, except=("x" "%C3%A9+")`)
	f.Add(`params=("a")`)
	f.Fuzz(func(t *testing.T, field string) {
		s, err := ParseNoVarySearch(field)
		if err != nil {
			return
		}
		again, err := ParseNoVarySearch(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is written as %q, which is %q, %v", field, s, again, err)
		}
	})
}
