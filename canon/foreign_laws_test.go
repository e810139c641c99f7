package canon

import (
	"testing"

	"github.com/PuerkitoBio/purell"
)

// TestLawsNotKept shows, for each law a profile's documentation disclaims, an input on
// which the profile breaks it. want is the form; again is the form of want, by the profile
// for idempotence and by a WHATWG parser for the fixpoint.
func TestLawsNotKept(t *testing.T) {
	type breach struct{ in, want, again string }
	for _, c := range []struct {
		p                     *Profile
		idempotence, fixpoint breach
	}{
		{HashedN(), breach{"http://h:80:80/", "http://h:80/", "http://h/"}, breach{"http://h", "http://h", "http://h/"}},
		{HashedP(), breach{"http://h/test/index.html", "http://h/test/", "http://h/test"}, breach{"http://h/", "http://h", "http://h/"}},
		{C14N(), breach{"http://h/%%36%31", "http://h/%61", "http://h/a"}, breach{"http://h/é", "http://h/é", "http://h/%C3%A9"}},
		{Scrapy(), breach{"http://h/%2%41", "http://h/%2A", "http://h/*"}, breach{"http://h:80/", "http://h:80/", "http://h/"}},
		{SURT(), breach{"http://a.b/", "b,a)/", "b,a))/"}, breach{"http://a.b/", "b,a)/", ""}},
		{SafeBrowsing(), breach{}, breach{"http://h/a\"b", "http://h/a\"b", "http://h/a%22b"}},
		{None(), breach{}, breach{"http://h", "http://h", "http://h/"}},
		{purellOf(t, purell.FlagsSafe|purell.FlagRemoveUnnecessaryHostDots|purell.FlagRemoveEmptyPortSeparator),
			breach{"http://a.b.:/", "http://a.b./", "http://a.b/"}, breach{"http://h", "http://h", "http://h/"}},
	} {
		checkBreach(t, "idempotence", c.p, c.p, c.idempotence)
		checkBreach(t, "fixpoint", c.p, WHATWG(), c.fixpoint)
	}
}

func checkBreach(t *testing.T, law string, p, second *Profile, b struct{ in, want, again string }) {
	t.Helper()
	if b.in == "" {
		return // the profile keeps this law
	}
	form, err := p.Canonicalize(b.in)
	again, _ := second.Canonicalize(form)
	if form != b.want || err != nil || again != b.again || again == form {
		t.Errorf("%s, %s, of %q: got %q, %v, then %q; want %q, then %q", p, law, b.in, form, err, again, b.want, b.again)
	}
}

// TestIdempotenceKept checks the claims on the corpora; the fuzz targets do on all bytes.
func TestIdempotenceKept(t *testing.T) {
	eachInput(t, func(raw string) {
		for _, p := range []*Profile{SafeBrowsing(), None(), HashedN()} {
			if p.Name() == "hashed-n" && (hasStrayPercent([]byte(raw)) || !tame.MatchString(raw)) {
				continue
			}
			once, err := p.Canonicalize(raw)
			if err != nil {
				continue
			}
			if twice, err := p.Canonicalize(once); twice != once || err != nil {
				t.Errorf("%s of %q: got %q, then %q, %v; want no change", p, raw, once, twice, err)
			}
		}
	})
}
