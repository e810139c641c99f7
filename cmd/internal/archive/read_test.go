package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
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
