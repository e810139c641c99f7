package canon

import (
	"errors"
	"strings"
	"testing"

	"github.com/PuerkitoBio/purell"
)

// foreignProfiles returns every profile of this kind, by its name as typed.
func foreignProfiles(t testing.TB) map[string]*Profile {
	return map[string]*Profile{
		"hashed-n": HashedN(), "hashed-p": HashedP(), "c14n": C14N(), "scrapy": Scrapy(), "safebrowsing": SafeBrowsing(),
		"surt": SURT(), "none": None(), "purell:all-greedy": purellOf(t, purell.FlagsAllGreedy),
	}
}

func TestSecondaryProfilesAsTyped(t *testing.T) {
	for typed, want := range foreignProfiles(t) {
		p, err := ParseProfile(typed)
		if err != nil || p.String() != typed || p.Version() != want.Version() || p.Name() != strings.SplitN(typed, ":", 2)[0] {
			t.Errorf("%s: got %v, %v; want it back", typed, p, err)
			continue
		}
		for _, in := range []string{"HTTP://www.Example.com:80/a/../%7Eb/index.html?z&a=1#f", "nonsense", "http://h:x/"} {
			got, err1 := p.Canonicalize(in)
			expect, err2 := want.Canonicalize(in)
			if got != expect || Code(err1) != Code(err2) {
				t.Errorf("%s of %q: got %q, %v as typed, %q, %v as called", typed, in, got, err1, expect, err2)
			}
		}
		if len(p.Rules()) == 0 || p.Rules()[0].Does == "" || p.Rules()[0].Source == "" {
			t.Errorf("%s: got rules %+v; want at least one, described", typed, p.Rules())
		}
		if q, err := p.WithRules("+strip-www"); err == nil {
			t.Errorf("%s with +strip-www: got %s; want an error", typed, q)
		}
	}
}

// FuzzSecondaryProfiles holds what every profile promises for any bytes: an error that
// wraps one sentinel, or a form; dst and raw untouched; one answer from all methods.
func FuzzSecondaryProfiles(f *testing.F) {
	for _, s := range []string{"", "http://U:P@Ä.example:080/%2e%2E//x;y?b=%41&a#f", "\xff\x00", "x:", "[::", "http://[::1%é]", "http://xn--bcé-İkva.ch/", "1.2.3.4:5/(S(0123456789abcdefghijklmn))/a.aspx"} {
		f.Add(s)
	}
	profiles := foreignProfiles(f)
	eachMutant(func(raw []byte, _ uint32) { f.Add(string(raw)) })
	f.Fuzz(func(t *testing.T, raw string) {
		for name, p := range profiles {
			checkPromises(t, name, p, raw)
		}
	})
}

func checkPromises(t *testing.T, name string, p *Profile, raw string) {
	input := []byte(raw)
	appended, err := p.AppendCanonical([]byte("kept "), input)
	if string(input) != raw {
		t.Fatalf("%s: input changed from %q to %q", name, raw, input)
	}
	form, err2 := p.Canonicalize(raw)
	explained, err3 := p.Explain(raw)
	if Code(err) != Code(err2) || Code(err) != Code(err3) {
		t.Errorf("%s of %q: got errors %v, %v and %v; want one", name, raw, err, err2, err3)
	}
	if err != nil {
		if string(appended) != "kept " || form != "" || !errors.Is(err, ErrURL) && !errors.Is(err, ErrScheme) && !errors.Is(err, ErrTooLong) {
			t.Errorf("%s of %q: got %q, %q, %v; want nothing and a sentinel", name, raw, appended, form, err)
		}
		return
	}
	if string(appended) != "kept "+form || explained.Canonical != form {
		t.Errorf("%s of %q: got %q appended, %q, %q explained; want one form", name, raw, appended, form, explained.Canonical)
	}
	last := raw
	for _, s := range explained.Steps {
		if s.Before != last || s.After == last || s.Rule == "" {
			t.Errorf("%s of %q: got step %+v after %q; want a chain of changes", name, raw, s, last)
		}
		last = s.After
	}
}

func TestNoneKeepsAnyBytes(t *testing.T) {
	for _, in := range []string{"", " HTTP://H:80/%61#f\n", "\xff\x00"} {
		e, err := None().Explain(in)
		if err != nil || e.Canonical != in || len(e.Steps) != 0 {
			t.Errorf("%q: got %+v, %v; want it unchanged", in, e, err)
		}
		if got, err := None().AppendCanonical([]byte("kept "), []byte(in)); string(got) != "kept "+in || err != nil {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}
