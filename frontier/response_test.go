package frontier

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
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
		"http://d.example", "http://a.example/a:b", "mailto:me", "http://[bad", "http://a.example/dir/%zz", "http://a.example/dir/page?q"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestLinksAreThoseOfBrowsers compares generated references, on generated bases, with those of package canon.
func TestLinksAreThoseOfBrowsers(t *testing.T) {
	var refs []string
	for _, scheme := range []string{"", "http:", "HTTP:", "https:", "mailto:", " http:"} {
		for _, authority := range []string{"", "/", "//", `\\`, "//h2", "//u@h2:80", "///h2", `/\h2`} {
			for _, rest := range []string{"", "/100%-sale", `a\b`, "../%zz/./%2e%2e/x", "?q=50%&r=://x", "#f%", " x y\n", "//%", "ü"} {
				refs = append(refs, scheme+authority+rest)
			}
		}
	}
	for _, at := range []string{"http://h", "http://h/x/y?q#f", `HTTP://H:80\x\100%\`, "https://h/a/../b//", "ftp://h/x/y", "mailto:a@b", "x:/a/b", "", "no URL"} {
		base, err := canon.ParseBase(at)
		for i, l := range Links(&Lease{URL: at}, refs...) {
			want := refs[i]
			if err == nil {
				want = base.Resolve(refs[i])
			}
			if l.URL != want {
				t.Errorf("%q on %q: got %q; want %q", refs[i], at, l.URL, want)
			}
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSettleResponseOfClientErrors takes errors from net/http's client: those of a fetch that never reached the host, and no others, leave
// the host alone.
func TestSettleResponseOfClientErrors(t *testing.T) {
	fail := func(err error) roundTrip { return func(*http.Request) (*http.Response, error) { return nil, err } }
	redirect := func(to string) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {to}}, Request: r, Body: http.NoBody}, nil
		}
	}
	page := "http://a.example/page"
	for _, tt := range []struct {
		name, url string
		by        http.RoundTripper // nil for that of net/http
		follows   bool              // redirects, by itself
		state     store.State
		follow    string // of the same page
		target    string // another page, queued
		failures  int    // of the host
	}{
		{name: "a scheme that it lacks", url: "ftp://a.example/f", state: store.Dropped},
		{name: "a stray %", url: "http://a.example/100%-sale?50%", state: store.Leased, follow: "http://a.example/100%25-sale?50%25"},
		{name: "a stray % in a fragment", url: "http://a.example/#100%", state: store.Leased, follow: "http://a.example/#100%25"},
		{name: "no slashes", url: `http:\\a.example\x`, state: store.Leased, follow: "http://a.example/x"},
		{name: "spaces around", url: " http://a.example/\n", state: store.Leased, follow: "http://a.example/"},
		{name: "a host that it can't parse", url: "http://a{b.example/", state: store.Dropped},
		{name: "a redirect that it can't parse", url: page, by: redirect("/50%-off"), state: store.Done, target: "http://a.example/50%-off"},
		{name: "a redirect to itself that it can't parse", url: "http://a.example//%25", by: redirect("/%"), state: store.Leased, follow: "http://a.example/%"},
		{name: "a redirect to no URL", url: page, by: redirect("http://[x/%zz"), state: store.Done},
		{name: "a redirect that it can't parse, behind one that it followed", url: page, by: roundTrip(func(r *http.Request) (*http.Response, error) {
			to := map[string]string{"a.example": "http://b.example/", "b.example": "/50%-off"}[r.URL.Host]
			return redirect(to)(r)
		}), follows: true, state: store.Queued, failures: 1},
		{name: "a parse error of another URL", url: page, by: fail(&url.Error{Op: "parse", URL: "%zz", Err: url.EscapeError("%zz")}), state: store.Queued, failures: 1},
		{name: "no connection", url: page, by: fail(&net.OpError{Op: "dial", Err: errors.New("refused")}), state: store.Queued, failures: 1},
		{name: "no name", url: page, by: fail(&net.DNSError{Err: "no such host", IsNotFound: true}), state: store.Queued, failures: 1},
		{name: "no certificate", url: page, by: fail(x509.UnknownAuthorityError{}), state: store.Queued, failures: 1},
		{name: "half a response", url: page, by: fail(io.ErrUnexpectedEOF), state: store.Queued, failures: 1},
		{name: "a timeout of the fetch", url: page, by: fail(context.DeadlineExceeded), state: store.Queued, failures: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := openKeep(t, true, Options{Delay: -1, Traps: Traps{Off: true}})
			addAll(t, f, Link{URL: tt.url})
			l := leaseOne(t, f)
			client := &http.Client{Transport: tt.by, CheckRedirect: func(*http.Request, []*http.Request) error {
				if tt.follows {
					return nil
				}
				return http.ErrUseLastResponse
			}}
			resp, err := client.Get(l.URL)
			if err == nil {
				t.Fatalf("got %v; want an error of the client", resp)
			}
			page, follow, err := SettleResponse(bg, f, l, resp, err)
			if err != nil || page || (follow == nil) != (tt.follow == "") || follow != nil && follow.URL != tt.follow {
				t.Fatalf("got page %v, follow %+v, %v; want %q followed", page, follow, err, tt.follow)
			}
			if e, err := f.Lookup(bg, Link{URL: tt.url}); err != nil || e.State != tt.state {
				t.Errorf("got %v, %v; want state %v", e.State, err, tt.state)
			}
			if n, _ := f.Failing("", l.Queue); n != tt.failures {
				t.Errorf("got %d failures of the host; want %d", n, tt.failures)
			}
			if tt.target != "" {
				nextOf(t, f, tt.target)
			}
		})
	}
}

// TestSettleResponseOfCause: a caller that ends its fetches with a cause gets the cause from net/http.
func TestSettleResponseOfCause(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addAll(t, f, Link{URL: "http://a.example/"})
	ctx, cancel := context.WithCancelCause(bg)
	cancel(errors.New("shutdown"))
	l := leaseOne(t, f)
	_, _, err := SettleResponse(ctx, f, l, nil, &urlError{context.Cause(ctx)})
	must(t, err)
	if l = leaseOne(t, f); l.Releases != 1 {
		t.Errorf("got %+v; want it released", l)
	}
	if page, follow, err := SettleResponse(bg, f, l, &http.Response{StatusCode: 302, Header: http.Header{"Location": {"x"}}}, nil); page || follow != nil || err != nil {
		t.Errorf("got %v, %v, %v of a response made by hand", page, follow, err)
	}
	nextOf(t, f, "http://a.example/x")
}
