package canon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A scopedWorld is a random rule file and the hosts and paths it speaks of, so that URLs
// can be made that meet its entries, nearly meet them, or meet them once folded.
type scopedWorld struct {
	hosts, paths []string
}

var scopedWorlds = scopedWorld{
	hosts: []string{"a.com", "b.a.com", "c.b.a.com", "com", "www.com", "xn--wgv71a.jp", "1.2.3.4", "[::1]", "h", "a.co.uk"},
	paths: []string{"", "/", "/a", "/a/", "/a/b", "/a/b/", "/index", "/a/%C3%BC", "/b", "/a/(S(abcdefghijklmnopqrstuvwx))"},
}

// entry makes an entry of sites or of params.
func (w scopedWorld) entry(r *rand.Rand, params bool) map[string]any {
	e := map[string]any{"host": w.host(r), "path": pickOne(r, w.paths)}
	if e["path"] == "" {
		delete(e, "path")
	} else if params && r.IntN(3) == 0 {
		e["pattern"] = e["path"].(string) + pickOne(r, []string{"", "$", "*", "*b$", "/*/index"})
		delete(e, "path")
	}
	switch {
	case !params:
		e["rules"] = switches(r, perSite)
	case r.IntN(2) == 0:
		e["drop"] = []string{pickOne(r, []string{"a", "b*", "ref", "utm_*"})}
	default:
		e["keep"] = []string{pickOne(r, []string{"a", "b*", "id"})}
	}
	return e
}

func (w scopedWorld) host(r *rand.Rand) string {
	switch host := pickOne(r, w.hosts); r.IntN(5) {
	case 0:
		return "*"
	case 1:
		return "*." + strings.Trim(host, "[]:")
	default:
		return host
	}
}

// switches picks one to four of the rules, each on or off.
func switches(r *rand.Rand, from ruleSet) (words []string) {
	ids := from.ids()
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[:1+r.IntN(4)] {
		words = append(words, pickOne(r, []string{"+", "-"})+string(rules[id].Rule))
	}
	return words
}

// profile makes a rule file and the profile of it. An address below a domain is no valid
// entry, so some files are drawn again.
func (w scopedWorld) profile(r *rand.Rand) (p *Profile, file string) {
	optional := ruleSet(0)
	for id := range ruleCount {
		if rules[id].Optional && id != rScopedParams && id != rScopedRules {
			optional = optional.with(id)
		}
	}
	for {
		f := map[string]any{"rules": switches(r, optional)}
		var sites, params []any
		for range 1 + r.IntN(6) {
			sites = append(sites, w.entry(r, false))
		}
		for range r.IntN(3) {
			params = append(params, w.entry(r, true))
		}
		f["sites"] = sites
		if params != nil {
			f["params"] = params
		}
		text, err := json.Marshal(f)
		if err != nil {
			panic(err) // maps of strings always marshal
		}
		if p, err = Qiita().With(WithRuleFile(strings.NewReader(string(text)))); err == nil {
			return p, string(text)
		}
	}
}

// url makes a URL near the entries, spelled in one way or another.
func (w scopedWorld) url(r *rand.Rand) string {
	host, path := pickOne(r, w.hosts), pickOne(r, w.paths)
	for range r.IntN(3) {
		host = "www." + host
	}
	if host == "[::1]" || r.IntN(4) > 0 {
		host += pickOne(r, []string{"", "", ":80", ":443", ":8080"})
	} else {
		host += pickOne(r, []string{".", "..", ".:80"})
	}
	for range r.IntN(4) {
		path += pickOne(r, []string{"/", "//", "/index.html", "/Index.php", "/x", "/../b", "/./", ";jsessionid=1", "/(S(abcdefghijklmnopqrstuvwx))", "/..;jsessionid=1", "%2F", "%41"})
	}
	query := ""
	for range r.IntN(4) {
		query += pickOne(r, []string{"&", "?", "b=2", "a=1", "a=", "ref", "utm_x=1", "id=3", "sid=0123456789abcdef0123456789abcdef"}) + "&"
	}
	if query != "" {
		query = "?" + query
	}
	return pickOne(r, []string{"http://", "https://", "HTTP://", "http:\\\\", "ftp://", "http://u@"}) + host + path + query + pickOne(r, []string{"", "", "#", "#!x", "#y\nz"})
}

func pickOne[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// TestLawsOfRandomRuleFiles holds both laws, and fast equal to slow, on URLs that meet the
// entries of random rule files, the same ones in every run. FIRSTSEEN_TORTURE_N sets how
// many files there are, and has others drawn in every run.
func TestLawsOfRandomRuleFiles(t *testing.T) {
	files, seed := 200, uint64(1)
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		files = 400
	}
	if text := os.Getenv("FIRSTSEEN_TORTURE_N"); text != "" {
		var err error
		if files, err = strconv.Atoi(text); err != nil {
			t.Fatalf("cannot read FIRSTSEEN_TORTURE_N: %v", err)
		}
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 10))
	changed := 0
	for range files {
		p, file := scopedWorlds.profile(r)
		without, err := p.With(Disable(ScopedRules))
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			raw := scopedWorlds.url(r)
			checkScoped(t, p, []byte(raw))
			if t.Failed() {
				t.Fatalf("seed %d: %q under %s", seed, raw, file)
			}
			a, _ := p.Canonicalize(raw)
			if b, _ := without.Canonicalize(raw); a != b {
				changed++
			}
		}
	}
	if changed < 5*files {
		t.Errorf("entries for sites changed %d of %d URLs; want at least a twentieth, or this tests nothing", changed, 100*files)
	}
}

func checkScoped(t *testing.T, p *Profile, raw []byte) {
	t.Helper()
	checkIdempotent(t, p, raw)
	checkFastIsSlow(t, p, raw)
	checkFixpoint(t, p, raw)
	checkSite(t, p, raw)
}

// checkSite holds what the laws stand on: a URL and its form have one site.
func checkSite(t *testing.T, p *Profile, raw []byte) {
	t.Helper()
	q := p.qiita
	form, err := p.AppendCanonical(nil, raw)
	if err != nil {
		return
	}
	host, path, ok := q.siteOf(string(raw), q.on)
	formHost, formPath, formOK := q.siteOf(string(form), q.on)
	if host != formHost || path != formPath || ok != formOK {
		t.Errorf("%s: %q has the site %s%s, its form %q %s%s; want one", p, raw, host, path, form, formHost, formPath)
	}
}

// FuzzScoped is the same test with URLs and rule files that a fuzzer makes.
func FuzzScoped(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 10))
	for i := range 20 {
		f.Add(scopedWorlds.url(r), uint64(i))
	}
	f.Fuzz(func(t *testing.T, raw string, seed uint64) {
		p, _ := scopedWorlds.profile(rand.New(rand.NewPCG(seed, 10)))
		checkScoped(t, p, []byte(raw))
	})
}

// TestSitesDoNotAllocate: a profile with entries for sites costs no allocation, whether
// one holds or not.
func TestSitesDoNotAllocate(t *testing.T) {
	p, err := Qiita().With(WithRuleFile(strings.NewReader(`{"sites": [
		{"host": "example.com", "path": "/a", "rules": ["+strip-www", "-collapse-slashes"]},
		{"host": "*.example.net", "rules": ["+fold-https"]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 0, 4096)
	for _, raw := range []string{"http://www.example.com/a/b//c", "http://a.b.example.net/", "http://other.org/a//b?c&b=1", "http://other.org/a"} {
		if n := testing.AllocsPerRun(100, func() { dst, _ = p.AppendCanonical(dst[:0], []byte(raw)) }); n > 1 {
			t.Errorf("%s: got %v allocations; want the test's own", raw, n)
		}
	}
}

// BenchmarkSites is what entries for sites cost: for URLs of which none is about, and of
// which each is.
func BenchmarkSites(b *testing.B) {
	for name, file := range map[string]string{
		"elsewhere":  `{"sites": [{"host": "no.example.com", "path": "/a", "rules": ["+strip-www"]}]}`,
		"everywhere": `{"sites": [{"host": "*", "path": "/", "rules": ["+strip-www", "-collapse-slashes"]}]}`,
	} {
		p, err := Qiita().With(WithRuleFile(strings.NewReader(file)))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			eachCorpus(b, func(b *testing.B, urls [][]byte) {
				var dst []byte
				for i := range b.N {
					dst, _ = p.AppendCanonical(dst[:0], urls[i%len(urls)])
				}
			})
		})
	}
}

// TestFilesOfSitesHaveIdentities: two rule files that differ in an entry have two names,
// and none of them changes the name of a file without entries for sites.
func TestFilesOfSitesHaveIdentities(t *testing.T) {
	seen := map[string]string{}
	for _, file := range []string{
		`{}`, `{"params": [{"host": "h", "drop": ["*"]}]}`,
		`{"sites": [{"host": "h", "rules": ["+strip-www"]}]}`, `{"sites": [{"host": "h", "rules": ["-strip-www"]}]}`,
		`{"sites": [{"host": "h", "path": "/a", "rules": ["+strip-www"]}]}`, `{"sites": [{"host": "i", "rules": ["+strip-www"]}]}`,
		`{"sites": [{"host": "h", "rules": ["+strip-www"]}], "params": [{"host": "h", "drop": ["*"]}]}`,
	} {
		p, err := Qiita().With(WithRuleFile(strings.NewReader(file)))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[p.String()]; ok {
			t.Errorf("%s and %s are both %s; want two names", file, other, p)
		}
		seen[p.String()] = file
	}
	if _, ok := seen["qiita:file=55c3502a11a766a4"]; !ok {
		t.Error("the name of a file of parameters alone has changed, and with it the identity of stores")
	}
	both := fmt.Sprint(seen)
	if strings.Contains(both, "scoped-rules") {
		t.Errorf("got %s; want the digest alone to speak of scoped rules", both)
	}
}
