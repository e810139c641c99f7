// Package vectors reads golden vectors for the tests of hashkey and its subpackages:
// files <set>_*.jsonl, one JSON object a line, in testdata/vectors of the package
// under test or in the directory that FIRSTSEEN_VECTORS names.
package vectors

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// knownSets are the sets of hashkey, and those of canon, which share a directory when
// FIRSTSEEN_VECTORS names one.
var knownSets = []string{
	"c14n", "crawl", "hashed_match", "hashed_parse", "hashed_uri", "rfc5849_sort", "safebrowsing", "scrapy", "surt",
	"sxurl_contains_v1", "sxurl_decode", "sxurl_encode", "sxurl_hash", "sxurl_host", "sxurl_match",
	"sxurl_psl", "sxurl_utils", "urlhash", "urlprefix",
}

// Dir is the directory the vectors are in.
func Dir() string {
	if dir := os.Getenv("FIRSTSEEN_VECTORS"); dir != "" {
		return dir
	}
	return filepath.Join("testdata", "vectors")
}

// CheckKnown fails for a vector file whose set no test knows, and when there is no file.
func CheckKnown(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got no vector files in %s (%v); want some", Dir(), err)
	}
	for _, file := range files {
		if setOf(file) == "" {
			t.Errorf("got file %s; want a name <set>_*.jsonl of one of %v", file, knownSets)
		}
	}
}

// setOf is the longest known set that the file's name begins with.
func setOf(file string) (set string) {
	for _, s := range knownSets {
		if strings.HasPrefix(filepath.Base(file), s+"_") && len(s) > len(set) {
			set = s
		}
	}
	return set
}

// Each calls f with every row of a set and logs how many there were.
// A set without a file is skipped.
func Each[Row any](t *testing.T, set string, f func(t *testing.T, row Row)) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(Dir(), set+"_*.jsonl"))
	rows, read := 0, false
	for _, file := range files {
		if setOf(file) == set {
			read = true
			rows += eachInFile(t, file, f)
		}
	}
	if !read {
		t.Skipf("%s: no file in %s", set, Dir())
	}
	t.Logf("%s: %d rows", set, rows)
}

func eachInFile[Row any](t *testing.T, file string, f func(t *testing.T, row Row)) (rows int) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		rows++
		var row Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s:%d: %v", file, rows, err)
		}
		f(t, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return rows
}

// AcceptedSince reports whether a row holds a URL that the reference implementation refuses
// and the URL Standard takes since June 2026 (whatwg/url pull request 914): an ASCII host may
// have xn-- labels that encode nothing. Such a row is not judged by the URL.
func AcceptedSince(id string) bool {
	switch id {
	case "wpt:urltestdata.json:293:href", "wpt:urltestdata.json:294:href", "wpt:urltestdata.json:297", "hand:252", "hand:254",
		"wpt:IdnaTestV2:675", "wpt:IdnaTestV2:837", "wpt:IdnaTestV2:1206", "wpt:IdnaTestV2:2430":
		return true
	}
	return false
}
