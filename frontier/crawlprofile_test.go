package frontier

import (
	"errors"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

func profileNamed(t *testing.T, name string) *canon.Profile {
	t.Helper()
	p, err := canon.ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCrawlProfiles creates a crawl for each preset in one store: forms and keys are those of the
// preset, no two crawls share one, and a second frontier on the store uses the same profiles.
func TestCrawlProfiles(t *testing.T) {
	const raw = "http://Example.com:80/a/../b?z=1&a=2#frag"
	s := memstore.New(memstore.Options{})
	f := openOn(t, s, Options{Delay: -1})
	names := []string{"whatwg", "hashed-n", "hashed-p", "c14n", "scrapy", "safebrowsing", "surt", "none", "purell:LowercaseHost"}
	for _, name := range names {
		if err := f.SetCrawlProfile(t.Context(), name, profileNamed(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []*Frontier{f, openOn(t, s, Options{Delay: -1})} {
		for _, name := range names {
			p := profileNamed(t, name)
			want, err := p.Canonicalize(raw)
			got, errUnseen := f.Lookup(bg, Link{URL: raw, Crawl: name})
			if err != nil || !errors.Is(errUnseen, store.ErrNotFound) || got.Canonical != want || !strings.EqualFold(got.Queue, "example.com") {
				t.Errorf("%s: got %q of queue %q, %v; want %q", name, got.Canonical, got.Queue, err, want)
			}
			if p := f.Profile(name); p.Name() != strings.SplitN(name, ":", 2)[0] {
				t.Errorf("got profile %s; want %s", p, name)
			}
		}
		if p := f.Profile("another"); p.Name() != "qiita" {
			t.Errorf("got profile %s; want that of the frontier", p)
		}
	}
	r, err := f.AddBatch(t.Context(), []Link{{URL: raw, Crawl: "whatwg"}, {URL: raw, Crawl: "surt"}, {URL: raw, Crawl: "surt"}})
	if err != nil || r[0].Status != StatusNew || r[1].Status != StatusNew || r[2].Status != StatusDuplicate {
		t.Errorf("got %v, %v; want new, new, duplicate", r, err)
	}
	crawls, err := f.Crawls(t.Context())
	if err != nil || len(crawls) != len(names) {
		t.Errorf("got crawls %q, %v; want %d, as named", crawls, err, len(names))
	}
}

// TestUnicodeHostsAreTold: by the flag a store refuses Unicode tables that would change
// its keys, so it must be set in every profile that maps hosts, or leaves them Unicode.
func TestUnicodeHostsAreTold(t *testing.T) {
	s := memstore.New(memstore.Options{})
	f := openOn(t, s, Options{Delay: -1})
	for _, name := range []string{"qiita", "whatwg", "c14n", "scrapy", "safebrowsing", "none"} {
		if err := f.SetCrawlProfile(t.Context(), name, profileNamed(t, name)); err != nil {
			t.Fatal(err)
		}
		urls := []Link{{URL: "http://bücher.de/", Crawl: name}, {URL: "http://a.de/ü#xn--", Crawl: name}, {URL: "ws://bücher.de/", Crawl: name}}
		c, err := f.crawl(t.Context(), name, false)
		must(t, err)
		w := f.workspace(c, len(urls))
		f.prepare(w, urls, make([]Result, len(urls)), []int{0, 1, 2})
		maps := name != "none"
		for i, want := range []bool{maps, false, maps && name != "qiita"} { // which refuses ws
			if got := w.offers[i].item.UnicodeHost; got != want {
				t.Errorf("%s of %s: got a Unicode host %t; want %t", name, urls[i].URL, got, want)
			}
		}
	}
}

// TestCrawlProfileRefused asks for what would change keys under URLs.
func TestCrawlProfileRefused(t *testing.T) {
	s := memstore.New(memstore.Options{})
	f := openOn(t, s, Options{Delay: -1})
	if _, err := f.AddBatch(t.Context(), []Link{{URL: "http://a.com/", Crawl: "used"}}); err != nil {
		t.Fatal(err)
	}
	set := func(crawl, profile string) error {
		return f.SetCrawlProfile(t.Context(), crawl, profileNamed(t, profile))
	}
	ruled, err := canon.Qiita().With(canon.WithRuleFile(strings.NewReader(`{"params": [{"host": "*", "drop": ["ref"]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	long := profileNamed(t, "qiita:+strip-www,+strip-index,+strip-trailing-slash,+fold-https")
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"another, with URLs", set("used", "whatwg"), store.ErrIdentity},
		{"none, with URLs", set("used", "none"), store.ErrIdentity},
		{"its own, with URLs", set("used", "qiita"), nil},
		{"whatwg", set("w", "whatwg"), nil},
		{"whatwg again", set("w", "whatwg"), nil},
		{"another than its own", set("w", "surt"), store.ErrIdentity},
		{"the frontier's, of a crawl with its own", set("w", "qiita"), store.ErrIdentity},
		{"exact after its own", f.SetCrawlProfile(t.Context(), "w", canon.None()), store.ErrIdentity},
		{"a name that is marked", set("w|whatwg@1", "surt"), store.ErrInvalid},
		{"rules switched", set("r", "qiita:+strip-www"), nil},
		{"a rule file", f.SetCrawlProfile(t.Context(), "f", ruled), store.ErrInvalid},
		{"too long a profile", f.SetCrawlProfile(t.Context(), "f", long), store.ErrInvalid},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v; want %v", c.what, c.err, c.want)
		}
	}
	if err := set("used", "whatwg"); !strings.Contains(err.Error(), "1 URLs") || !strings.Contains(err.Error(), "qiita") || !strings.Contains(err.Error(), "whatwg") {
		t.Errorf("got %q; want the URLs, the profile they have and the one asked for", err)
	}
}

// TestCrawlProfileUnknown opens a store with a crawl of a profile that this
// program can't make.
func TestCrawlProfileUnknown(t *testing.T) {
	for _, suffix := range []string{"|whatwg@999", "|to-come@1"} {
		s := memstore.New(memstore.Options{})
		off := false
		if err := s.Configure(t.Context(), "c"+suffix, "", store.QueueChange{Paused: &off}); err != nil {
			t.Fatal(err)
		}
		if _, err := New(s, Options{}); !errors.Is(err, store.ErrIdentity) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("%s: got %v; want ErrIdentity that names the crawl", suffix, err)
		}
	}
}
