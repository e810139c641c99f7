package frontier

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

// response is an answer for the URL of a lease; header is a list of names and values.
func response(t *testing.T, l *Lease, code int, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL, nil)
	must(t, err)
	r := &http.Response{StatusCode: code, Header: http.Header{}, Request: req, Body: io.NopCloser(strings.NewReader("page"))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestSettleResponse(t *testing.T) {
	tests := []struct {
		name   string
		code   int
		header []string
		want   store.State   // of the page; Unknown for one that is the caller's to settle
		back   time.Duration // when a queued page is due
		blocks time.Duration // how long another page of the queue is not handed out
	}{
		{name: "page", code: 200, want: store.Leased},
		{name: "page in part", code: 206, want: store.Leased},
		{name: "not modified", code: 304, want: store.Leased},
		{name: "not found", code: 404, want: store.Dropped},
		{name: "redirect to nowhere", code: 302, want: store.Dropped},
		{name: "redirect to another page", code: 301, header: []string{"Location", "/other"}, want: store.Done},
		{name: "server error", code: 500, want: store.Queued, back: 30 * time.Second},
		{name: "request timeout", code: 408, want: store.Queued, back: 30 * time.Second},
		{name: "busy for seconds", code: 503, header: []string{"Retry-After", "120"}, want: store.Queued, back: 2 * time.Minute, blocks: 2 * time.Minute},
		{name: "busy until a date", code: 429, header: []string{"Retry-After", "Sat, 01 Jan 2000 01:00:00 GMT", "Date", "Sat, 01 Jan 2000 00:00:00 GMT"},
			want: store.Queued, back: time.Hour, blocks: time.Hour},
		{name: "busy for years", code: 503, header: []string{"Retry-After", "4000000000"}, want: store.Queued, back: 24 * time.Hour, blocks: 24 * time.Hour},
		{name: "busy", code: 429, want: store.Queued, back: time.Minute, blocks: time.Minute},
		{name: "busy, it is not said for how long", code: 503, header: []string{"Retry-After", "soon"}, want: store.Queued, back: 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openKeep(t, true, Options{Delay: -1, MaxInFlight: -1})
				page := Link{URL: "http://a.example/page"}
				addAll(t, f, page)
				l := leaseOne(t, f)
				resp := response(t, l, tt.code, tt.header...)
				isPage, follow, err := SettleResponse(bg, f, l, resp, nil)
				if err != nil || isPage != (tt.want == store.Leased) || follow != nil {
					t.Fatalf("got page %v, follow %v, %v", isPage, follow, err)
				}
				e, err := f.Lookup(bg, page)
				must(t, err)
				if e.State != tt.want || tt.want == store.Queued && time.Until(e.Due) != tt.back {
					t.Errorf("got state %v, due in %v; want %v, %v", e.State, time.Until(e.Due), tt.want, tt.back)
				}
				addAll(t, f, Link{URL: "http://a.example/next", Priority: 7})
				start := time.Now()
				if l, err = f.Next(bg); err != nil || time.Since(start) != tt.blocks {
					t.Errorf("got %v, %v after %v; want another page after %v", l, err, time.Since(start), tt.blocks)
				}
			})
		})
	}
}

func TestSettleResponseFollowsTheSamePage(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addAll(t, f, Link{URL: "http://a.example//x"})
	l := leaseOne(t, f)
	page, follow, err := SettleResponse(bg, f, l, response(t, l, 301, "Location", "/x"), nil)
	if err != nil || page || follow == nil || follow.URL != "http://a.example/x" {
		t.Fatalf("got %v, %+v, %v; want /x to be followed", page, follow, err)
	}
	page, next, err := SettleResponse(bg, f, follow, response(t, follow, 200), nil)
	if err != nil || !page || next != nil {
		t.Fatalf("got %v, %+v, %v; want the page", page, next, err)
	}
	must(t, f.Done(bg, follow))
}

func TestSettleResponseWithoutResponse(t *testing.T) {
	f := open(t, Options{Delay: -1})
	state := func() (store.State, int) {
		e, err := f.Lookup(bg, Link{URL: "http://a.example/"})
		must(t, err)
		return e.State, e.Attempts
	}
	addAll(t, f, Link{URL: "http://a.example/"})
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, _, err := SettleResponse(ctx, f, leaseOne(t, f), nil, &urlError{context.Canceled}); err != nil {
		t.Fatal(err)
	}
	l := leaseOne(t, f) // it was released
	if _, _, err := SettleResponse(bg, f, l, nil, errors.New("connection refused")); err != nil {
		t.Fatal(err)
	}
	if s, attempts := state(); s != store.Queued || attempts != 2 {
		t.Errorf("got state %v after %d attempts; want it queued after 2", s, attempts)
	}
	leaseNone(t, f) // until its back-off is over
	if _, _, err := SettleResponse(bg, f, l, response(t, l, 404), nil); err != nil {
		t.Errorf("got %v; want a stale lease left alone", err)
	}
	if s, _ := state(); s != store.Queued {
		t.Errorf("got state %v; want it still queued", s)
	}
}

// urlError wraps an error as http.Client does.
type urlError struct{ err error }

func (e *urlError) Error() string { return "Get: " + e.err.Error() }
func (e *urlError) Unwrap() error { return e.err }

func TestSettleResponseRefusesAClientThatFollows(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addAll(t, f, Link{URL: "http://a.example/"})
	l := leaseOne(t, f)
	resp := response(t, l, 200)
	resp.Request.Response = response(t, l, 302)
	if _, _, err := SettleResponse(bg, f, l, resp, nil); err == nil || !strings.Contains(err.Error(), "CheckRedirect") {
		t.Errorf("got %v; want an error that names CheckRedirect", err)
	}
}

func TestLinksAreResolved(t *testing.T) {
	var got []string
	from := &Lease{URL: "http://a.example/dir/page?q", Crawl: "c", Depth: 2}
	for _, l := range Links(from, "HTTP://B.example/%7e", " http://b.example/ ", "x", "../y?z#f", "?p=http://c", "//d.example", "/a:b", "mailto:me", "http://[bad", "%zz", "") {
		got = append(got, l.URL)
		if l.Crawl != "c" || l.Depth != 3 {
			t.Errorf("got %+v; want crawl c, depth 3", l)
		}
	}
	want := []string{"HTTP://B.example/%7e", " http://b.example/ ", "http://a.example/dir/x", "http://a.example/y?z#f", "http://a.example/dir/page?p=http://c",
		"http://d.example", "http://a.example/a:b", "mailto:me", "http://[bad", "%zz", "http://a.example/dir/page?q"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}
