package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// TestUrlhashVectors judges the rows on which the url crate and the current WHATWG
// tests agree.
func TestUrlhashVectors(t *testing.T) {
	p := WHATWG()
	judged := 0
	eachRow(t, "urlhash", func(t *testing.T, r struct{ ID, Input, Canonical, Error, Whatwg string }) {
		if r.Whatwg != "agree" {
			return
		}
		judged++
		code := ""
		if r.Error != "" {
			code = "url"
		}
		checkRow(t, p, r.ID, r.Input, r.Canonical, code)
	})
	t.Logf("urlhash: %d rows judged", judged)
}

func TestSortVectors(t *testing.T) {
	p := Qiita()
	eachRow(t, "rfc5849_sort", func(t *testing.T, r struct {
		Query  string
		Sorted string `json:"sorted_emit"`
	}) {
		want := "http://example.com/"
		if r.Sorted != "" {
			want += "?" + escapeIllegal(r.Sorted, queryRaw) // the set stops short of this last step
		}
		checkRow(t, p, "rfc5849_sort", "http://example.com/?"+r.Query, want, "")
	})
}
