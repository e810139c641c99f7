package canon

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/PuerkitoBio/purell"
)

// purellOf returns the profile with some flags. They are named one by one.
func purellOf(t testing.TB, flags purell.NormalizationFlags) *Profile {
	t.Helper()
	var names []string
	for name, flag := range purellNamed {
		if flags&flag != 0 {
			names = append(names, name)
		}
	}
	p, err := Purell(strings.Join(append(names, "none"), ","))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// purellNamed are purell's flags by its own names.
var purellNamed = map[string]purell.NormalizationFlags{
	"FlagLowercaseScheme": purell.FlagLowercaseScheme, "FlagLowercaseHost": purell.FlagLowercaseHost, "FlagUppercaseEscapes": purell.FlagUppercaseEscapes,
	"FlagDecodeUnnecessaryEscapes": purell.FlagDecodeUnnecessaryEscapes, "FlagEncodeNecessaryEscapes": purell.FlagEncodeNecessaryEscapes,
	"FlagRemoveDefaultPort": purell.FlagRemoveDefaultPort, "FlagRemoveEmptyQuerySeparator": purell.FlagRemoveEmptyQuerySeparator,
	"FlagRemoveTrailingSlash": purell.FlagRemoveTrailingSlash, "FlagAddTrailingSlash": purell.FlagAddTrailingSlash, "FlagRemoveDotSegments": purell.FlagRemoveDotSegments,
	"FlagRemoveDirectoryIndex": purell.FlagRemoveDirectoryIndex, "FlagRemoveFragment": purell.FlagRemoveFragment, "FlagForceHTTP": purell.FlagForceHTTP,
	"FlagRemoveDuplicateSlashes": purell.FlagRemoveDuplicateSlashes, "FlagRemoveWWW": purell.FlagRemoveWWW, "FlagAddWWW": purell.FlagAddWWW, "FlagSortQuery": purell.FlagSortQuery,
	"FlagDecodeDWORDHost": purell.FlagDecodeDWORDHost, "FlagDecodeOctalHost": purell.FlagDecodeOctalHost, "FlagDecodeHexHost": purell.FlagDecodeHexHost,
	"FlagRemoveUnnecessaryHostDots": purell.FlagRemoveUnnecessaryHostDots, "FlagRemoveEmptyPortSeparator": purell.FlagRemoveEmptyPortSeparator,
}

const purellAll = purell.FlagsAllGreedy | purell.FlagsAllNonGreedy

func TestPurellIsPurell(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	usual := purellOf(t, purell.FlagsUsuallySafeGreedy)
	eachInput(t, func(raw string) {
		flags := purell.NormalizationFlags(random.Uint64()) & purellAll
		checkPurell(t, raw, flags, purellOf(t, flags))
		checkPurell(t, raw, purell.FlagsUsuallySafeGreedy, usual)
	})
}

// checkPurell wants of p what purell makes with flags.
func checkPurell(t *testing.T, raw string, flags purell.NormalizationFlags, p *Profile) {
	t.Helper()
	want, wantErr := purell.NormalizeURLString(raw, flags)
	got, err := p.AppendCanonical([]byte("kept "), []byte(raw))
	if wantErr != nil {
		if !errors.Is(err, ErrURL) || string(got) != "kept " {
			t.Errorf("%q, flags %b: got %q, %v; want an ErrURL as purell has %v", raw, flags, got, err, wantErr)
		}
		return
	}
	if string(got) != "kept "+want || err != nil {
		t.Errorf("%q, flags %b: got %q, %v; want %q", raw, flags, got, err, want)
	}
}

func TestPurellRefusesAHugeHost(t *testing.T) {
	p := purellOf(t, purell.FlagsSafe)
	for _, c := range []struct {
		raw  string
		want error
	}{
		{"http://" + strings.Repeat("ä", 1001) + "/", ErrTooLong},
		{"http://h/" + strings.Repeat("ä", 1001), nil},
		{"http://h/%zz" + strings.Repeat("a", 3000), ErrURL},
	} {
		if _, err := p.Canonicalize(c.raw); !errors.Is(err, c.want) {
			t.Errorf("%.40q…: got error %v; want %v", c.raw, err, c.want)
		}
	}
}

func TestPurellAsTyped(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"purell:safe", "purell:safe"},
		{"purell:none", "purell:none"},
		{"purell:FlagsSafe,FlagSortQuery", "purell:safe,sort-query"},
		{"purell:remove-fragment, SortQuery", "purell:remove-fragment,sort-query"},
		{"purell:usually-safe-greedy,remove-fragment", "purell:usually-safe-greedy,remove-fragment"},
		{"purell:safe,remove-dot-segments,remove-trailing-slash", "purell:usually-safe-greedy"},
		{"purell:all-non-greedy,remove-www", "purell:all-non-greedy,remove-www"},
	} {
		p, err := ParseProfile(c.in)
		if err != nil || p.String() != c.out {
			t.Errorf("%s: got %v, %v; want %s", c.in, p, err, c.out)
		}
	}
	for _, in := range []string{"purell", "purell:", "purell:safe,", "purell:nonsense", "purell:safe,-sort-query"} {
		if p, err := ParseProfile(in); err == nil {
			t.Errorf("%s: got %s; want an error", in, p)
		}
	}
}

func TestPurellStringGivesTheFlagsBack(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		flags := purell.NormalizationFlags(random.Uint64())
		s := purellOf(t, flags).String()
		p, err := ParseProfile(s)
		if err != nil {
			t.Fatal(err)
		}
		var got purell.NormalizationFlags
		for _, r := range p.Rules()[1:] {
			for name, flag := range purellNamed {
				if strings.EqualFold(name, "Flag"+strings.ReplaceAll(string(r.Rule), "-", "")) {
					got |= flag
				}
			}
		}
		if got != flags&purellAll {
			t.Fatalf("%s: got flags %b; want %b", s, got, flags&purellAll)
		}
	}
}

func TestPurellExplainsFlagByFlag(t *testing.T) {
	p := purellOf(t, purell.FlagsSafe|purell.FlagRemoveFragment|purell.FlagSortQuery)
	e, err := p.Explain("HTTP://Host:80/%7ea?b&a#f")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range e.Steps {
		got = append(got, string(s.Rule)+" "+s.After)
	}
	want := []string{
		"purell-parse http://Host:80/~a?b&a#f",
		"lowercase-host http://host:80/~a?b&a#f",
		"remove-default-port http://host/~a?b&a#f",
		"remove-fragment http://host/~a?b&a",
		"sort-query http://host/~a?a=&b=",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e.Canonical != "http://host/~a?a=&b=" {
		t.Errorf("got %q; want the last step", e.Canonical)
	}
}

func FuzzPurell(f *testing.F) {
	for _, s := range []string{"http://пример.рф:8080/", "http://1.2..3./%2F?a;b=1", "http:a", "//h/%zz", "http://％４１.com"} {
		f.Add(s, uint32(purell.FlagsAllGreedy))
	}
	eachMutant(func(raw []byte, bits uint32) { f.Add(string(raw), bits) })
	f.Fuzz(func(t *testing.T, raw string, bits uint32) {
		flags := purell.NormalizationFlags(bits) & purellAll
		checkPurell(t, raw, flags, purellOf(t, flags))
	})
}
