package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/cmd/internal/transfer"
)

const archived = ` CDX N b a m s k r M S V g
example,a)/ 20260101000000 http://a.example/ text/html 200 AAAA - - 10 0 x.warc.gz
example,a)/q?a=2&b=1 20260101000000 http://a.example/q?b=1&a=2 text/html 200 BBBB - - 10 0 x.warc.gz
example,a)/gone 20260101000000 http://a.example/gone text/html 404 CCCC - - 10 0 x.warc.gz
`

// TestArchivedIsSkipped imports an index into a crawl, which then skips its URLs. Then it exports
// them as hashes to another crawl, which skips them without knowing the URLs.
func TestArchivedIsSkipped(t *testing.T) {
	dir := t.TempDir()
	index, db, list := filepath.Join(dir, "index.cdx"), filepath.Join(dir, "db"), filepath.Join(dir, "list")
	if err := os.WriteFile(index, []byte(archived), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "import", "--db", db, "--keep-urls", index)
	command(t, "export", "--db", db, "--hashed-uri", "--output", list)
	offered := []string{"http://a.example", "http://A.example:80/q?a=2&b=1#x", "http://a.example/q?b=1&a=2", "http://a.example/q", "http://a.example/gone"}
	for _, c := range []struct{ flags, want string }{
		{"", "duplicate duplicate duplicate new new"},
		{"--exclude-hashed", "refused refused refused new new"},
	} {
		store, flags := db, []string{}
		if c.flags != "" {
			store, flags = filepath.Join(dir, "other"), []string{c.flags, list}
		}
		d := startDaemon(t, store, flags...)
		if got := verdicts(t, d.http, offered); got != c.want {
			t.Errorf("%q: got %s; want %s", c.flags, got, c.want)
		}
	}
	text, err := os.ReadFile(list)
	if err != nil || strings.Contains(string(text), "example") {
		t.Errorf("got %v, %s; want no URL to be seen", err, text)
	}
}

// verdicts offers URLs to a daemon and returns the answers, parted by blanks.
func verdicts(t *testing.T, address string, urls []string) string {
	t.Helper()
	var body bytes.Buffer
	for _, u := range urls {
		if err := json.NewEncoder(&body).Encode(map[string]string{"url": u}); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.Post("http://"+address+"/v1/urls", "application/x-ndjson", &body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got []string
	for d := json.NewDecoder(answer.Body); ; {
		var v struct{ Verdict string }
		if err := d.Decode(&v); err == io.EOF {
			return strings.Join(got, " ")
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, v.Verdict)
	}
}

// command runs the command and returns its output. Some input may be refused.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if status := run(t.Context(), args, nil, &out, &errOut); status > statusRefused {
		t.Fatalf("%v: got status %d, %s", args, status, errOut.String())
	}
	return out.String()
}

// TestImportRealArchives imports files of real crawlers and archives. It checks that the counts of
// each file add up, and compares those of the lab with fixed counts.
func TestImportRealArchives(t *testing.T) {
	logs := filepath.Join(sharedDir(t), "logs")
	db := filepath.Join(t.TempDir(), "db")
	want := map[string][4]int64{ // new, seen before, left out by status, not fetched
		"lab/heritrix-3.4.0-crawl.log.gz": {9436, 1, 7133, 0},
		"lab/wget-docs.cdx.gz":            {9515, 5497, 1953, 0},
		"lab/pub.warc.gz":                 {0, 50, 0, 0},
		"lab/pub.cdxj":                    {0, 50, 0, 0},
		"lab/scrapy-debug.log.gz":         {0, 1501, 3, 17501},
	}
	files := []string{"lab/heritrix-3.4.0-crawl.log.gz", "lab/wget-docs.cdx.gz", "lab/pub.warc.gz", "lab/pub.cdxj", "lab/scrapy-debug.log.gz"}
	for _, pattern := range []string{"cdx/*", "cdxj/*", "heritrix/*", "warc/*", "nutch/*", "frontier/*"} {
		found, err := filepath.Glob(filepath.Join(logs, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("got %v, %v; want files as %s", found, err, pattern)
		}
		for _, f := range found {
			rel, _ := filepath.Rel(logs, f)
			files = append(files, rel)
		}
	}
	seen := int64(0)
	for _, name := range files {
		for _, c := range imported(t, db, filepath.Join(logs, name)) {
			parts := c.New + c.Known + c.Refused + c.Unreadable + c.NotFetched + c.ByStatus + c.Before + c.Other
			if parts != c.Records {
				t.Errorf("%s: got %+v; want parts that add up", name, c)
			}
			if w, ok := want[name]; ok && [4]int64{c.New, c.Known, c.ByStatus, c.NotFetched} != w {
				t.Errorf("%s: got %+v; want %v", name, c, w)
			}
			seen += c.New
		}
	}
	stats := command(t, "stats", "--db", db, "--json")
	if wanted := fmt.Sprintf(`"seen":%d,`, seen); !strings.Contains(stats, wanted) {
		t.Errorf("got %s; want %s", stats, wanted)
	}
	t.Logf("%d files, %d URLs", len(files), seen)
}

// imported imports a file and returns its counts; of a file that can't be read to its
// end, those up to there, and of one that can't be read at all none.
func imported(t *testing.T, db, file string) (all []transfer.Counts) {
	t.Helper()
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"import", "--db", db, "--json", file}, nil, &out, &errOut)
	for d := json.NewDecoder(&out); d.More(); {
		var c transfer.Counts
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if status > statusRefused {
		t.Logf("%s: %s", filepath.Base(file), errOut.String())
	}
	return all
}
