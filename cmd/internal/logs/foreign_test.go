package logs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const e = "https://example.com"

// foreignFiles are small files in forms that people reported; testdata/README.md has their origins. Each has its records: kind,
// status if it is known, and URL.
var foreignFiles = map[string]struct {
	records []string
	base    string
}{
	"gsc-pages.csv":           {records: []string{"listed https://www.example.com/", "listed https://www.example.com/docs/authapi", "listed https://www.example.com/"}},
	"linkinator-comma.csv":    {records: []string{"fetch 403 https://www.example.com/Salaries/freelance-SRCH_KO0,26.htm", "fetch 200 https://www.example.com/Salaries/freelance-SRCH_KO0,27.htm"}},
	"httpx-status.txt":        {records: []string{"fetch 200 " + e + "/a", "fetch 404 " + e + "/b"}},
	"httpx-ip.txt":            {records: []string{"listed " + e + "/login", "listed " + e + "/"}},
	"xff-quoted-vhost.log":    {records: []string{"fetch 200 http://example.com/url", "fetch 200 http://example.com/url"}},
	"xff-632.log":             {records: slices.Repeat([]string{"fetch 200 http://base.example/url"}, 4), base: "http://base.example"},
	"zeek-http.log":           {records: []string{"fetch 200 http://img.example.com/1.jpg", "fetch 200 http://img.example.com/2.jpg", "fetch 200 http://img.example.com/3.jpg", "fetch 200 http://img.example.com/4.jpg"}},
	"httpx-irr.jsonl":         {records: []string{"fetch 200 " + e + "/login"}},
	"arc-dashed-filedesc.arc": {records: []string{"fetch 200 http://www.example.com:80/tst.htm"}},
	"mac-cr.txt":              {records: []string{"listed " + e + "/a", "listed " + e + "/b", "listed " + e + "/c"}},
	"redirect-blank.cdx":      {records: []string{"fetch 302 http://example.com/a", "fetch 302 http://example.com/b", "fetch 200 http://example.com/c"}},
	"status-equals.cdx":       {records: []string{"fetch 200 https://www.example.uk/b"}},
	"urls.js.txt":             {records: []string{"listed " + e + "/a", "listed " + e + "/b", "listed " + e + "/c"}},
	"scrapy-splash.log":       {records: []string{"fetch 200 https://www.example.com/overs/detailed", "fetch 200 https://www.example.com/overs/detailed"}},
	"wget-failures.log": {records: []string{"link http://192.0.2.1:81/refused", "link http://192.0.2.1:81/refused", "link http://no-such-host.invalid/dns",
		"link http://192.0.2.1:8080/nodata", "link http://192.0.2.1:8080/nodata"}},
	"statuscode.jsonl":               {records: []string{"fetch 404 " + e + "/gone", "fetch 200 " + e + "/ok"}},
	"cloudfront-000.log":             {records: []string{"link http://www.example.com/a.html"}},
	"stormcrawler-fetch-error.jsonl": {records: []string{"link " + e + "/x"}},
	"apache-json.jsonl":              {records: []string{"fetch 200 http://www.example.com/index.html?a=1"}, base: "http://base.example"},
	"w3c-cs-uri-and-query.log":       {records: []string{"fetch 200 http://www.example.com/page.php?id=1", "fetch 200 http://www.example.com/page.php?id=2"}},
	"w3c-cs-uri-no-scheme.log":       {records: []string{"fetch 200 http://www.example.com/page.php?variable=test"}},
	"late-nul.txt":                   {},
	"item-size.jsonl":                {records: []string{"fetch https://shop.example/shirt", "fetch https://shop.example/hat", "fetch https://shop.example/sock"}},
	"katana.jsonl":                   {records: []string{"fetch 200 " + e + "/a"}},
	"gospider.txt":                   {records: []string{"fetch 200 " + e + "/a", "listed " + e + "/b", "listed " + e + "/c.js"}},
	"waybackurls-dates.txt":          {records: []string{"listed http://example.com:80/", "listed http://www.example.com:80/x"}},
	"uniq-c.txt":                     {records: []string{"listed " + e + "/a", "listed " + e + "/b"}},
	"quoted-column.csv":              {records: []string{"listed " + e + "/a", "listed " + e + "/b"}},
	"ansi.txt":                       {records: []string{"listed " + e + "/a", "listed " + e + "/b"}},
	"sitemap-ampersand.xml":          {records: []string{"link " + e + "/1", "link " + e + "/?a=1&b=2", "link " + e + "/x-1Âº-y.html", "link " + e + "/4"}},
	"rss-after-comment.xml":          {records: []string{"link " + e + "/1"}},
	"array.json":                     {records: []string{"fetch " + e + "/a", "fetch " + e + "/b"}},
	"pretty.har":                     {records: []string{"fetch 200 " + e + "/a"}},
	"ahrefs-utf16.csv":               {records: []string{"listed " + e + "/a"}},
	"wet.warc":                       {records: []string{"fetch " + e + "/a"}},
	"padded.txt.gz":                  {records: []string{"listed " + e + "/a"}},
}

// neighbours are what people do to files, and what changes no record of them.
var neighbours = map[string]func(text []byte) []byte{
	"as it is": func(text []byte) []byte { return text },
	"CR LF": func(text []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	},
	"a mark":        func(text []byte) []byte { return append([]byte(byteOrderMark), text...) },
	"no line end":   func(text []byte) []byte { return bytes.TrimRight(text, "\r\n") },
	"blanks behind": func(text []byte) []byte { return append(slices.Clone(text), "\n\n  \n"...) },
	"gzip": func(text []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write(text) // into memory
		_ = z.Close()
		return append(out.Bytes(), make([]byte, 512)...)
	},
}

// TestForeignFiles reads the files, and five neighbours of each.
func TestForeignFiles(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "foreign"))
	if err != nil || len(files) != len(foreignFiles) {
		t.Fatalf("got %d files, %v; want %d", len(files), err, len(foreignFiles))
	}
	for name, want := range foreignFiles {
		text, err := os.ReadFile(filepath.Join("testdata", "foreign", name))
		if err != nil {
			t.Fatal(err)
		}
		for how, change := range neighbours {
			binary := strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, "arc") || name == "ahrefs-utf16.csv" || name == "mac-cr.txt"
			if binary && how != "as it is" && (how != "gzip" || strings.HasSuffix(name, ".gz")) {
				continue
			}
			got, refused, _ := strings.Cut(wild(t, change(text), Options{Base: want.base}), "refused ")
			switch {
			case name == "late-nul.txt":
				if strings.Count(got, "\n") < 100 || refused != "1\n" {
					t.Errorf("%s, %s: got %d URLs, %s refused; want one refused", name, how, strings.Count(got, "\n"), refused)
				}
			case got != strings.Join(append(slices.Clone(want.records), ""), "\n"):
				t.Errorf("%s, %s: got %q; want %q", name, how, got, want.records)
			}
		}
	}
}

// TestSlowPipe: what passes at once where a pipe is silent after these lines, and what waits for more.
func TestSlowPipe(t *testing.T) {
	for text, want := range map[string]bool{
		e + "/a\n":                     true,
		e + "/a\n" + e + "/b\n":        true,
		`{"url":"` + e + `/a"}` + "\n": true,
		`192.0.2.1 - - [20/Nov/2026:08:12:01 +0000] "GET / HTTP/1.1" 200 5` + "\n": true,
		"Top pages,Clicks\n":                 false,
		e + "/a [200]\n":                     false,
		e + "/a,12\n" + e + "/b,13\n":        false,
		"example.com\n":                      false,
		"2026-01-01 00:00:00 [x] INFO: go\n": false,
		"\n":                                 false,
	} {
		d := &detector{opt: &Options{Base: DefaultBase}, name: "-", head: []byte(text), whole: true, end: '\n'}
		how, err := d.judge()
		if got := err == nil && how.sure; got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestCarriedLines: a format that is named is that of what the lines carry.
func TestCarriedLines(t *testing.T) {
	for _, text := range []string{
		`Nov 20 08:12:01 web nginx[7]: 192.0.2.1 - - [20/Nov/2026:08:12:01 +0000] "GET /a HTTP/1.1" 200 5` + "\n",
		`{"log":"192.0.2.1 - - [20/Nov/2026:08:12:01 +0000] \"GET /a HTTP/1.1\" 200 5\n","stream":"stdout"}` + "\n",
	} {
		for _, format := range []Format{Access, ""} {
			in, err := Open(t.Context(), "-", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for r, err := range records(in, Options{Format: format, Base: e}, &Counts{}) {
				got = append(got, fmt.Sprint(r.URL, " ", r.Status, " ", err))
			}
			if want := e + "/a 200 <nil>"; len(got) != 1 || got[0] != want {
				t.Errorf("%s as %q: got %q; want %q", text, format, got, want)
			}
		}
	}
}
