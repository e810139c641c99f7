package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

const crawlLog = `2026-01-01T00:00:00.000Z   200       1234 http://a.example/ - - text/html #001 20260101000000000+10 sha1:AAAA - -
2026-01-02T00:00:00.000Z   404          0 http://a.example/gone L http://a.example/ text/html #001 20260101000000000+10 sha1:AAAA - -
2026-01-03T00:00:00.000Z    -9          - http://b.example/found L http://a.example/ no-type #001 - - - -
2026-01-04T00:00:00.000Z   301          0 http://A.example:80/x/../old L http://a.example/ text/html #001 20260101000000000+10 sha1:AAAA - -
2026-01-05T00:00:00.000Z     1         55 dns:a.example P http://a.example/ text/dns #001 20260101000000000+10 sha1:AAAA - -
2026-01-06T00:00:00.000Z   200         10 http://a.example/old L http://a.example/ text/html #001 20260101000000000+10 sha1:AAAA - -
torn
`

const index = ` CDX N b a m s k r M S V g
example,a)/ 20260101000000 http://a.example/ text/html 200 AAAA - - 10 0 x.warc.gz
example,a)/ 20260201000000 http://a.example/ warc/revisit - AAAA - - 10 0 x.warc.gz
example,a)/b 20260201000000 http://a.example/b text/html 503 BBBB - - 10 0 x.warc.gz
`

// seenOf imports a text and returns the URLs that are then seen, sorted.
func seenOf(t *testing.T, text string, opt Options) (Counts, []string) {
	t.Helper()
	f := open(t)
	counts, err := Read(t.Context(), file(t, text), f.See, opt)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, url := range []string{
		"http://a.example/", "http://a.example/gone", "http://b.example/found", "http://a.example/old", "http://a.example/b",
	} {
		if r, err := f.Add(t.Context(), url); err != nil {
			t.Fatal(err)
		} else if r.Status == frontier.StatusDuplicate {
			seen = append(seen, url)
		}
	}
	return counts, seen
}

func open(t *testing.T) *frontier.Frontier {
	t.Helper()
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func file(t *testing.T, text string) *logs.File {
	t.Helper()
	f, err := logs.New(t.Context(), "log", io.NopCloser(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func statuses(t *testing.T, s string) Statuses {
	t.Helper()
	set, err := ParseStatuses(s)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestWhatCountsAsFetched(t *testing.T) {
	good := statuses(t, "2xx,3xx")
	for _, c := range []struct {
		name, text string
		opt        Options
		want       Counts
		seen       []string
	}{
		{"crawl.log", crawlLog, Options{Statuses: good},
			Counts{Format: "heritrix", Records: 7, New: 2, Known: 1, ByStatus: 1, NotFetched: 1, Other: 1, Unreadable: 1},
			[]string{"http://a.example/", "http://a.example/old"}},
		{"any answer", crawlLog, Options{},
			Counts{Format: "heritrix", Records: 7, New: 3, Known: 1, NotFetched: 1, Other: 1, Unreadable: 1},
			[]string{"http://a.example/", "http://a.example/gone", "http://a.example/old"}},
		{"what was found, too", crawlLog, Options{Links: true, Statuses: good},
			Counts{Format: "heritrix", Records: 7, New: 3, Known: 1, ByStatus: 1, Other: 1, Unreadable: 1},
			[]string{"http://a.example/", "http://b.example/found", "http://a.example/old"}},
		{"since", crawlLog, Options{Statuses: good, Since: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)},
			Counts{Format: "heritrix", Records: 7, New: 1, Before: 2, ByStatus: 1, NotFetched: 1, Other: 1, Unreadable: 1},
			[]string{"http://a.example/old"}},
		{"index", index, Options{Statuses: good},
			Counts{Format: "cdx", Records: 3, New: 1, Known: 1, ByStatus: 1}, []string{"http://a.example/"}},
		{"list", "http://a.example/\nhttp:///\nmailto:x\n", Options{Statuses: good},
			Counts{Format: "list", Records: 3, New: 1, Refused: 2, NoStatus: 3, Reasons: map[string]int64{"url": 1, "scheme": 1}}, []string{"http://a.example/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, seen := seenOf(t, c.text, c.opt)
			if int64(len(got.Examples)) != got.Refused+got.Unreadable {
				t.Errorf("got examples %q; want one of each refusal", got.Examples)
			}
			got.Examples = nil
			if u := got.Units; u.Units != u.Read+u.Blank+u.Headers+u.Comments+u.Refused+u.Other {
				t.Errorf("got %+v; want a sum of %d", u, u.Units)
			}
			got.Units = logs.Counts{}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.seen, seen); d != "" {
				t.Error(d)
			}
		})
	}
}

// manyLines is a list longer than some batches.
func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "http://a.example/%d\n", i)
	}
	return b.String()
}

// TestGoesOn: an import that fails half-way is taken up where it was durable, and no
// record is recorded twice or left out.
func TestGoesOn(t *testing.T) {
	text := manyLines(3*batchSize + 5)
	var recorded []string
	failing := errors.New("disk full")
	left := 2
	record := func(_ context.Context, urls []frontier.Link) ([]frontier.Result, error) {
		if left--; left < 0 {
			return nil, failing
		}
		results := make([]frontier.Result, len(urls))
		for i, u := range urls {
			recorded = append(recorded, u.URL)
			results[i].Status = frontier.StatusNew
		}
		return results, nil
	}
	done := int64(0)
	opt := Options{Checkpoint: func(n int64) error { done = n; return nil }}
	counts, err := Read(t.Context(), file(t, text), record, opt)
	if !errors.Is(err, failing) || done != 2*batchSize || counts.New != 2*batchSize {
		t.Fatalf("got %v at %d, %+v; want %v at %d", err, done, counts, failing, 2*batchSize)
	}
	left, opt.From = 100, done
	counts, err = Read(t.Context(), file(t, text), record, opt)
	if err != nil || counts.Passed != 2*batchSize || counts.New != batchSize+5 || done != 3*batchSize+5 {
		t.Errorf("got %+v, %v, done %d; want the rest", counts, err, done)
	}
	if text != strings.Join(recorded, "\n")+"\n" {
		t.Errorf("got %d URLs, not those of the file in order", len(recorded))
	}
}

// TestInterrupted checks that, when the context ends, the URLs that were counted are recorded and
// noted.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := int64(0)
	f := open(t)
	record := func(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
		cancel() // while a batch is being recorded
		return f.See(ctx, urls)
	}
	counts, err := Read(ctx, file(t, manyLines(4*batchSize)), record, Options{Checkpoint: func(n int64) error { done = n; return nil }})
	if !errors.Is(err, context.Canceled) || counts.New != batchSize || done != batchSize {
		t.Errorf("got %v, %+v, done %d; want one batch", err, counts, done)
	}
}

func TestStatuses(t *testing.T) {
	set := statuses(t, "2xx, 404")
	for status, want := range map[int]bool{0: false, 200: true, 299: true, 301: false, 404: true, 403: false, -9: false, 1: false, 1000: false} {
		if got := set.Take(status); got != want {
			t.Errorf("Take(%d): got %v; want %v", status, got, want)
		}
	}
	for _, bad := range []string{"", "2x", "700", "20a", "2xx,,", "all,2xx"} {
		if _, err := ParseStatuses(bad); err == nil {
			t.Errorf("ParseStatuses(%q): got no error", bad)
		}
	}
}

// TestBatchesAreBoundedByBytes records URLs of 100 KiB: a batch is handed on before
// they are hundreds of megabytes.
func TestBatchesAreBoundedByBytes(t *testing.T) {
	const lines, length = 400, 100 << 10
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "http://a.example/%0*d\n", length, i)
	}
	largest, n := 0, 0
	counts, err := Read(t.Context(), file(t, text.String()), func(_ context.Context, urls []frontier.Link) ([]frontier.Result, error) {
		size := 0
		for _, u := range urls {
			size += len(u.URL)
		}
		largest, n = max(largest, size), n+len(urls)
		return make([]frontier.Result, len(urls)), nil
	}, Options{})
	if err != nil || n != lines || counts.Records != lines {
		t.Errorf("got %d URLs, %+v, %v; want %d", n, counts, err, lines)
	}
	if most := batchText + length + 100; largest > most {
		t.Errorf("got a batch of %d bytes; want at most %d", largest, most)
	}
}

// TestNoAnswerIsNoAnswer imports requests that no server answered, in every format that can say so: none is recorded, whatever the
// statuses that are asked for.
func TestNoAnswerIsNoAnswer(t *testing.T) {
	const alb = ` app/lb 192.0.2.1:2817 - -1 -1 -1 %s - 0 0 "GET http://a.example:80/ HTTP/1.1" "-" - -`
	for name, text := range map[string]string{
		"wget":         "--2026-11-26 17:50:42--  http://a.example/\nConnecting to a.example... failed: Connection refused.\nRetrying.\n\n--2026-11-26 17:50:43--  (try: 2)  http://a.example/\n",
		"CloudFront":   "#Fields: date time cs(Host) cs-uri-stem sc-status\n2026-01-01\t00:00:00\ta.example\t/\t000\n2026-01-01\t00:00:00\ta.example\t/\t-\n",
		"access":       `192.0.2.1 - - [20/Nov/2026:08:12:01 +0000] "GET http://a.example/ HTTP/1.1" 000 0 "-" "-"` + "\n" + `192.0.2.1 - - [20/Nov/2026:08:12:01 +0000] "GET http://a.example/ HTTP/1.1" - 0 "-" "-"` + "\n",
		"S3":           `79a5 bucket1 [06/Feb/2026:00:00:38 +0000] 192.0.2.3 - 3E57 REST.GET.OBJECT a "GET / HTTP/1.1" - - - - 7 - "-" "-" - x SigV4 ECDHE AuthHeader a.example TLSv1.2 - -` + "\n",
		"ALB":          "http 2026-07-02T22:23:00.186641Z" + fmt.Sprintf(alb, "-") + "\n",
		"Caddy":        `{"logger":"http.log.access","request":{"method":"GET","host":"a.example","uri":"/"},"status":0}` + "\n" + `{"logger":"http.log.access","request":{"method":"GET","host":"a.example","uri":"/"}}` + "\n",
		"Traefik":      `{"RequestAddr":"a.example","RequestPath":"/","StartUTC":"2026-11-20T08:12:01Z"}` + "\n",
		"nginx":        `{"host":"a.example","request":"GET / HTTP/1.1","status":"-"}` + "\n",
		"StormCrawler": `{"url":"http://a.example/","status":"FETCH_ERROR","metadata":{}}` + "\n" + `{"url":"http://a.example/","status":"DISCOVERED"}` + "\n",
		"URLFrontier":  `{"known":{"info":{"url":"http://a.example/","metadata":{"fetch.exception":{"values":["x"]}}}}}` + "\n",
		"HAR":          "{\n\"log\": {\"entries\": [\n{\"request\": {\"url\": \"http://a.example/\"}, \"response\": {\"status\": 0}}\n]}}\n",
		"httpx":        `{"url":"http://a.example/","failed":true,"error":"refused"}` + "\n",
		"Crawlee":      `{"url":"http://a.example/","statusCode":null}` + "\n",
		"CDX":          " CDX N b a m s k r M S V g\nexample,a)/ 20260101000000 http://a.example/ text/html 0 AAAA - - 10 0 x.warc.gz\n",
		"CDXJ":         `example,a)/ 20260101000000 {"url": "http://a.example/", "status": "0"}` + "\n",
		"Heritrix":     "2026-01-03T00:00:00.000Z    -2          - http://a.example/ L http://a.example/ no-type #001 - - - -\n",
		"Nutch":        "http://a.example/\tVersion: 7\nStatus: 1 (db_unfetched)\n\n",
		"Zeek":         "#separator \\x09\n#fields\tts\thost\turi\tstatus_code\n1320279561.45\ta.example\t/\t-\n",
		"CSV":          "url,status\nhttp://a.example/,0\nhttp://a.example/,Timeout\nhttp://a.example/,\n",
		"words":        "url,outcome\nhttp://a.example/,failed\nhttp://a.example/,timed out\n",
		"errors":       "url,error\nhttp://a.example/,ECONNREFUSED\n",
		"curl":         "http://a.example/ 000\nhttp://b.example/ 000\n",
		"httpx -probe": "http://a.example/ [FAILED]\n",
		"Squid":        "1796382004.100  60000 192.0.2.1 TCP_MISS_ABORTED/000 0 GET http://a.example/ - HIER_DIRECT/198.51.100.1 -\n",
		"Envoy":        `[2026-04-15T20:17:01.310Z] "GET http://a.example/ HTTP/2" 0 DC 0 0 226 - "192.0.2.1" "curl" "x" "a.example" "198.51.100.1:80"` + "\n",
		"HAProxy":      `192.0.2.1:33319 [06/Feb/2026:12:14:16.655] in static/s 5/0/1/-1/300 -1 0 - - CD-- 1/1/1/1/0 0/0 "GET http://a.example/ HTTP/1.1"` + "\n",
		"Suricata":     `{"event_type":"http","http":{"hostname":"a.example","url":"/","http_method":"GET"}}` + "\n",
		"Burp":         "<items><item><url>http://a.example/</url><status></status></item></items>",
		"ARC":          "filedesc://x.arc 0.0.0.0 20260101000000 text/plain 108\n2 0 x\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n\nhttp://a.example/ 192.0.2.1 20260101000000 text/html 0 - - 0 x.arc 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, seen := seenOf(t, text, Options{})
			if got.Records == 0 || got.New+got.Known > 0 || seen != nil {
				t.Errorf("got %+v, %v; want records, and none of them recorded", got, seen)
			}
			if all := got.NotFetched + got.ByStatus + got.Other + got.Unreadable; all != got.Records {
				t.Errorf("got %+v; want each left out with its reason", got)
			}
		})
	}
}

// TestLateStatuses puts the first status of a file behind so many records without one: then those had no answer. In a file without any they
// are what the caller says was fetched, and a pipe is read like a file, and leaves nothing in TMPDIR.
func TestLateStatuses(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", kept)
	plain := []string{"CSV", "semicolons", "tabs", "JSON", "list", "list, code first"} // which are never refused
	forms := map[string][2]string{                                                     // a record without a status and one with
		"CSV":              {"U,\n", "U,S\n"},
		"CSV with a title": {"A b,U,\n", "A b,U,S\n"},
		"semicolons":       {"U;;\n", "U;;S\n"},
		"tabs":             {"U\t\n", "U\tS\n"},
		"JSON":             {`{"url":"U"}` + "\n", `{"url":"U","status":S}` + "\n"},
		"JSON, nested":     {`{"url":"U"}` + "\n", `{"url":"U","response":{"status_code":S}}` + "\n"},
		"JSON, strings":    {`{"url":"U","status":""}` + "\n", `{"url":"U","status":"S"}` + "\n"},
		"list":             {"U\n", "U S\n"},
		"list, code first": {"U\n", "S U\n"},
		"list with tags":   {"[href] - U\n", "[code-S] - U\n"},
		"YAML":             {"- url: U\n", "- url: U\n  status: S\n"},
	}
	for name, form := range forms {
		for _, before := range []int{1, 20, 39, 50, 300, 5000} {
			for _, header := range []string{"", "url,status\n"} {
				if header != "" && name != "CSV" {
					continue
				}
				var b strings.Builder
				b.WriteString(header)
				for i := range before {
					b.WriteString(strings.Replace(form[0], "U", fmt.Sprintf("http://a.example/%d", i), 1))
				}
				without := b.String()
				for i, status := range []string{"404", "200"} {
					b.WriteString(strings.NewReplacer("U", fmt.Sprintf("http://b.example/%d", i), "S", status).Replace(form[1]))
				}
				path := filepath.Join(dir, "log")
				for n, text := range []string{without, b.String(), without, b.String()} {
					all, recorded := text == without && header == "" && !strings.Contains(form[0], `""`), []string(nil)
					in := file(t, text)
					if n < 2 {
						var err error
						if err = os.WriteFile(path, []byte(text), 0o600); err == nil {
							in, err = logs.Open(t.Context(), path, nil)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					_, err := Read(t.Context(), in, func(_ context.Context, urls []frontier.Link) ([]frontier.Result, error) {
						for _, u := range urls {
							recorded = append(recorded, u.URL)
						}
						return make([]frontier.Result, len(urls)), nil
					}, Options{Statuses: statuses(t, "2xx,3xx")})
					want := 1
					if all {
						want = before
					} else if text == without {
						want = 0
					}
					isOther := !all && len(recorded) > 0 && recorded[0] != "http://b.example/1"
					switch {
					case errors.Is(err, logs.ErrFormat) && !slices.Contains(plain, name): // refused
					case err != nil:
						t.Errorf("%s: got %v", name, err)
					case isOther, len(recorded) > want, len(recorded) < want && (all || slices.Contains(plain, name)):
						t.Errorf("%s, header %q, %d before: got %d URLs, such as %q; want %d", name, header, before, len(recorded), recorded[:min(1, len(recorded))], want)
					}
					if err := in.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if left, err := os.ReadDir(kept); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v in TMPDIR; want nothing", left, err)
	}
}

// TestSinceNeedsATime leaves out what has no time that can be read, counted.
func TestSinceNeedsATime(t *testing.T) {
	got, seen := seenOf(t, "url,status,crawled\nhttp://a.example/,200,2026-03-01 10:00\nhttp://a.example/gone,200,03/04/2026\nhttp://a.example/old,200,\nhttp://a.example/b,200,1 Jan 2026 10:00:00\n",
		Options{Since: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)})
	if got.New != 1 || got.Before != 1 || got.Undated != 2 || len(seen) != 1 {
		t.Errorf("got %+v, %q; want one new, one before, and two without a time", got, seen)
	}
}
