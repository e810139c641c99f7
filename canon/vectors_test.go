package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// knownSets are the vector sets of this package and of hashkey.
var knownSets = []string{
	"c14n", "crawl", "hashed_match", "hashed_parse", "hashed_uri", "rfc5849_sort", "safebrowsing", "scrapy", "surt",
	"sxurl_contains_v1", "sxurl_decode", "sxurl_encode", "sxurl_hash", "sxurl_host", "sxurl_match",
	"sxurl_psl", "sxurl_utils", "urlhash", "urlprefix",
}

func TestEveryVectorFileIsOfAKnownSet(t *testing.T) {
	dir := os.Getenv("FIRSTSEEN_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skipf("no vector files in %s (%v)", dir, err)
	}
	for _, file := range files {
		if set := setOfFile(file); set == "" {
			t.Errorf("got file %s; want a name <set>_*.jsonl of one of %v", file, knownSets)
		}
	}
}

// setOfFile is the longest known set that the name begins with.
func setOfFile(file string) (set string) {
	for _, s := range knownSets {
		if strings.HasPrefix(filepath.Base(file), s+"_") && len(s) > len(set) {
			set = s
		}
	}
	return set
}

func TestCrawlVectors(t *testing.T) {
	p := Qiita()
	eachRow(t, "crawl", func(t *testing.T, r struct{ ID, Input, Canonical, Short, Error string }) {
		if acceptedSince[r.ID] {
			r.Canonical, r.Error = strings.ToLower(r.Input), ""
			sum := sha256.Sum256([]byte(r.Canonical))
			r.Short = hex.EncodeToString(sum[:16])
		}
		checkRow(t, p, r.ID, r.Input, r.Canonical, r.Error)
		sum := sha256.Sum256([]byte(r.Canonical))
		if short := hex.EncodeToString(sum[:16]); r.Error == "" && short != r.Short {
			t.Errorf("%s: got key %s of %q; want %s", r.ID, short, r.Canonical, r.Short)
		}
	})
}

// checkRow wants the canonical form, or, when that is empty, the error of that code.
func checkRow(t *testing.T, p *Profile, id, input, want, code string) {
	t.Helper()
	got, err := p.Canonicalize(input)
	if got != want || Code(err) != code {
		t.Errorf("%s: %s of %q: got %q, %v; want %q, code %q", id, p, input, got, err, want, code)
	}
	appended, err := p.AppendCanonical([]byte("kept "), []byte(input))
	if string(appended) != "kept "+want || Code(err) != code {
		t.Errorf("%s: %s appended for %q: got %q, %v; want %q", id, p, input, appended, err, want)
	}
}

// acceptedSince are the rows whose hosts the URL Standard refused when the vectors were made,
// and takes since June 2026 (whatwg/url pull request 914): an ASCII host may have xn-- labels
// that encode nothing. The form of each is its input in lower case.
var acceptedSince = map[string]bool{
	"wpt:urltestdata.json:293:href": true,
	"wpt:urltestdata.json:294:href": true,
	"hand:252":                      true,
	"hand:254":                      true,
}

// notWHATWG are rows that have no answer of the Web Platform Tests after all, with the reason.
var notWHATWG = map[string]string{
	"wpt:urltestdata.json:339": "it was tested with a base",
	"wpt:urltestdata.json:736": "^ is escaped in paths, but not in opaque ones",
}

// TestUrlhashVectors judges the rows on which the url crate and the Web Platform Tests
// agreed when they were made, and of the others those for which it has the tests' answer.
func TestUrlhashVectors(t *testing.T) {
	p := WHATWG()
	judged := map[string]int{}
	eachRow(t, "urlhash", func(t *testing.T, r struct {
		ID, Input, Canonical, Error, Whatwg string
		Href                                *string `json:"whatwg_href"`
	}) {
		code := ""
		switch {
		case notWHATWG[r.ID] != "":
			return
		case acceptedSince[r.ID]:
			r.Canonical = strings.ToLower(r.Input)
		case r.ID == "wpt:toascii:87": // U+1E9E maps to U+00DF since Unicode 15.1, not to "ss"
			r.Canonical = "https://xn--zca.foo.com/x"
		case r.Whatwg == "agree" && r.Error != "":
			code = "url"
		case r.Whatwg == "agree":
		case r.Whatwg == "moved-caret":
			r.Canonical = strings.ReplaceAll(r.Canonical, "^", "%5E") // in a path, since March 2025
		case r.Href != nil && strings.Contains(*r.Href, ":"):
			r.Canonical = *r.Href
		case r.Href != nil: // of a host
			r.Canonical = "https://" + *r.Href + "/x"
		default:
			return
		}
		judged[r.Whatwg]++
		checkRow(t, p, r.ID, r.Input, r.Canonical, code)
	})
	t.Logf("urlhash: rows judged %v", judged)
}

func TestSortVectors(t *testing.T) {
	p := Qiita()
	eachRow(t, "rfc5849_sort", func(t *testing.T, r struct {
		Query  string
		Sorted string `json:"sorted_emit"`
	}) {
		want := "http://example.com/"
		if r.Sorted != "" {
			want += "?" + whatwg.Escape(r.Sorted, queryRaw) // the set stops short of this last step
		}
		checkRow(t, p, "rfc5849_sort", "http://example.com/?"+r.Query, want, "")
	})
}
