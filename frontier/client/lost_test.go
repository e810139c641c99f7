package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/store"
)

// TestLostAnswers lets the daemon carry out each kind of call, and loses its answer.
func TestLostAnswers(t *testing.T) {
	d := newDaemon(t)
	lost := newLosing()
	c := d.open(t, client.Over(lost))

	lost.lose("/v1/urls", 2, 0)
	r := add(t, c, frontier.Link{URL: "http://a.example/"})
	if r[0].Status != frontier.StatusDuplicate || !r[0].Resent {
		t.Errorf("got %+v; want a duplicate that may be our own", r[0])
	}
	lost.lose("/v1/seen", 1, 0)
	if r, err := c.See(bg, []frontier.Link{{URL: "http://b.example/"}}); err != nil || r[0].Status != frontier.StatusDuplicate || !r[0].Resent {
		t.Errorf("got %+v, %v; want a duplicate that may be our own", r, err)
	}
	l := next(t, c)
	if l.URL != "http://a.example/" {
		t.Fatalf("got %+v; want the URL whose answer was lost, queued", l)
	}
	lost.lose("/v1/done", 1, 0)
	if err := c.Done(bg, l); err != nil {
		t.Errorf("got %v; want done, since it was", err)
	}
	if err := c.Done(bg, l); !errors.Is(err, frontier.ErrStale) {
		t.Errorf("got %v; want ErrStale when no answer was lost", err)
	}
	if s, err := c.Stats(bg, ""); err != nil || s.Completed != 1 {
		t.Errorf("got %+v, %v; want one completed", s, err)
	}
}

func TestLostRedirectAndExtend(t *testing.T) {
	d := newDaemon(t)
	lost := newLosing()
	c := d.open(t, client.Over(lost))
	add(t, c, frontier.Link{URL: "http://a.example/"})
	l := next(t, c)
	lost.lose("/v1/redirect", 1, 0)
	if r, err := c.Redirect(bg, l, "http://b.example/"); err != nil || r.Follow != nil || r.Target.Status != frontier.StatusDuplicate || !r.Target.Resent {
		t.Errorf("got %+v, %v; want a target that was added before", r, err)
	}
	lost.lose("/v1/done", 1, 0)
	if err := extend(c, l, time.Now().Add(time.Hour)); !errors.Is(err, frontier.ErrStale) {
		t.Errorf("got %v; want the truth about a lease that can't be extended", err)
	}
	if l = next(t, c); l.URL != "http://b.example/" {
		t.Errorf("got %s; want the target, queued by the sending whose answer was lost", l.URL)
	}
}

// TestAnswersThatBreakOff loses the end of a long answer. Items that were answered must not be sent
// again, and none may be answered new twice.
func TestAnswersThatBreakOff(t *testing.T) {
	const n = 3000
	d := newDaemon(t)
	lost := newLosing()
	c := d.open(t, client.Over(lost))
	urls := make([]frontier.Link, n)
	for i := range urls {
		urls[i].URL = fmt.Sprintf("http://example.com/%d", i)
	}
	lost.lose("/v1/urls", 2, 20_000)
	fresh, resent := 0, 0
	for i, r := range add(t, c, urls...) {
		switch {
		case r.Status == frontier.StatusNew && !r.Resent:
			fresh++
		case r.Status == frontier.StatusDuplicate && r.Resent:
			resent++
		default:
			t.Fatalf("got %+v at %d", r, i)
		}
	}
	if fresh == 0 || resent == 0 || fresh+resent != n {
		t.Errorf("got %d new, %d resent; want some of each, %d in all", fresh, resent, n)
	}
	if s, err := c.Stats(bg, ""); err != nil || s.Held != n {
		t.Errorf("got %+v, %v; want all %d queued", s, err, n)
	}
}

// TestBusyDaemon answers with the refusals that mean "later". Busy and out of disk
// look at nothing; the others, a proxy's too, may come after a commit.
func TestBusyDaemon(t *testing.T) {
	for _, test := range []struct {
		answers []int
		resent  bool
	}{{[]int{429, 507}, false}, {[]int{502}, true}, {[]int{503}, true}, {[]int{504}, true}, {[]int{503, 429}, true}} {
		c := busy(t, test.answers...)
		if r, err := c.See(bg, []frontier.Link{{URL: "http://a.example/"}}); err != nil || r[0].Status != frontier.StatusDuplicate || r[0].Resent != test.resent {
			t.Errorf("got %+v, %v after %v; want a duplicate, resent %t", r, err, test.answers, test.resent)
		}
		c = busy(t, test.answers...)
		err := c.Done(bg, &frontier.Lease{URL: "http://a.example/", Token: 1})
		if errors.Is(err, frontier.ErrStale) == test.resent || err != nil && !errors.Is(err, frontier.ErrStale) {
			t.Errorf("got %v after %v; want stale only if it was not sent twice", err, test.answers)
		}
	}
}

// busy is a client of a daemon that answers so once each, and then knows every URL and
// no lease.
func busy(t *testing.T, answers ...int) *client.Client {
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.URL.Path == "/v1/stats":
			fmt.Fprintln(w, `{}`)
		case len(answers) > 0:
			w.WriteHeader(answers[0])
			answers = answers[1:]
		case r.URL.Path == "/v1/done":
			fmt.Fprintln(w, `{"answers":["stale"]}`)
		default:
			fmt.Fprintln(w, `{"url":"http://a.example/","verdict":"duplicate","key":"00112233445566778899aabbccddeeff"}`)
		}
	}))
	t.Cleanup(s.Close)
	c, err := client.Open(bg, client.Options{Addr: s.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, c)
	return c
}

func TestPatienceEnds(t *testing.T) {
	began := time.Now()
	_, err := client.Open(bg, client.Options{Addr: freeAddrs(t, 1)[0], Patience: 100 * time.Millisecond})
	if !errors.Is(err, client.ErrUnavailable) || time.Since(began) < 100*time.Millisecond {
		t.Errorf("got %v after %v; want ErrUnavailable, and not before patience ends", err, time.Since(began))
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	opt := client.Tuned(client.Options{Addr: silent.Listener.Addr().String(), Patience: 120 * time.Millisecond}, 50*time.Millisecond, 0)
	if _, err := client.Open(bg, opt); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("got %v of a daemon that says nothing; want ErrUnavailable", err)
	}
}

// silentOnce is a transport to a daemon that does not answer the first request.
type silentOnce struct{ counting }

func (s *silentOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.counting.RoundTrip(r)
	if s.requests.Load() == 1 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return answer, err
}

// TestPatienceBeginsWithTheFirstFailure waits longer for one answer than patience
// lasts: that is no reason not to try again.
func TestPatienceBeginsWithTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := client.Over(&silentOnce{})
		o.Patience = time.Second
		c, err := client.Open(t.Context(), client.Tuned(o, 2*time.Second, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// refusing is a transport to a daemon without room on its disk.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusInsufficientStorage, Body: io.NopCloser(strings.NewReader(`{"error":{"code":"disk-low","message":"no room"}}`))}, nil
}

// TestWaitingIsTold: a call that waits for a daemon says so, once.
func TestWaitingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		o := client.Over(refusing{})
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		if _, err := client.Open(t.Context(), o); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("got %v; want ErrUnavailable", err)
		}
		if got := log.String(); strings.Count(got, "waiting for the daemon") != 1 || !strings.Contains(got, "no room") {
			t.Errorf("got %q; want one warning with the daemon's reason", got)
		}
	})
}

// TestWaitersWhoLeave lets many wait and leave, some at once.
func TestWaitersWhoLeave(t *testing.T) {
	// A canceled request may still lease the URL, without a client that knows it.
	c := newDaemon(t).open(t, client.Options{MaxInFlight: -1, Lease: time.Second})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(bg, time.Duration(i%20)*100*time.Microsecond)
			defer cancel()
			if l, err := c.Next(ctx); l != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, %v; want the context's error", l, err)
			}
		})
	}
	wg.Wait()
	add(t, c, frontier.Link{URL: "http://a.example/"})
	next(t, c)
}

// TestForeignCertificate checks that requests to an untrusted server are not repeated.
func TestForeignCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	tls := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	tls.RootCAs = nil
	if _, err := client.Open(bg, client.Options{Addr: s.Listener.Addr().String(), TLS: tls}); err == nil || errors.Is(err, client.ErrUnavailable) {
		t.Errorf("got %v; want the certificate refused at once", err)
	}
}

func TestIdentity(t *testing.T) {
	d := newDaemon(t)
	d.open(t, client.Options{Profile: canon.Qiita()})
	_, err := client.Open(bg, client.Options{Addr: d.http, Profile: canon.WHATWG()})
	if !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want ErrIdentity", err)
	}
}

// TestFaultOfOne lets a bad settlement travel with good ones.
func TestFaultOfOne(t *testing.T) {
	c := newDaemon(t).open(t, client.Tuned(client.Options{}, 0, 1))
	for i := range 20 {
		add(t, c, frontier.Link{URL: fmt.Sprintf("http://host%d.example/", i)})
	}
	var wg sync.WaitGroup
	for range 20 {
		l := next(t, c)
		wg.Go(func() {
			if err := c.Done(bg, l); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := c.Done(bg, &frontier.Lease{}); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("got %v; want ErrInvalid for no lease", err)
			}
		})
	}
	wg.Wait()
}

func TestNotCarried(t *testing.T) {
	c := newDaemon(t).open(t, client.Options{})
	var at time.Time
	if err := c.Configure(bg, "", "q", store.QueueChange{NotBefore: &at}); !errors.Is(err, client.ErrNotCarried) {
		t.Errorf("got %v; want ErrNotCarried for the end of a fetch", err)
	}
	if _, _, err := c.Lease(bg, frontier.LeaseRequest{MaxExpired: 3}); !errors.Is(err, client.ErrNotCarried) {
		t.Errorf("got %v; want ErrNotCarried for a bound that is the daemon's", err)
	}
	r := add(t, c, frontier.Link{URL: "http://a.example/", Queue: "\xff"}, frontier.Link{URL: "http://a.example/"},
		frontier.Link{URL: "http://a.example/2", Due: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if !errors.Is(r[0].Err, client.ErrNotCarried) || r[0].Status != frontier.StatusRefused || r[1].Status != frontier.StatusNew || !errors.Is(r[2].Err, client.ErrNotCarried) {
		t.Errorf("got %+v; want what isn't carried refused, and the rest taken", r)
	}
}

// TestSettingsOfACrawlAreCarried: what Configure sets on a crawl is what the daemon then has.
func TestSettingsOfACrawlAreCarried(t *testing.T) {
	d := newDaemon(t)
	c := d.open(t, client.Options{})
	limit, retention := int64(7), 24*time.Hour
	if err := c.Configure(bg, "news", "", store.QueueChange{QueueLimit: &limit, Retention: &retention}); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + d.http + "/v1/stats?crawl=news")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if want := `"settings":{"queue_limit":7,"retention_seconds":86400}`; err != nil || !strings.Contains(string(body), want) {
		t.Errorf("got %s, %v; want %s", body, err, want)
	}
}

// TestLongLine offers a URL whose line is longer than the daemon reads: it is refused
// alone, by a single request.
func TestLongLine(t *testing.T) {
	c := newDaemon(t).open(t, client.Options{})
	urls := make([]frontier.Link, 5)
	for i := range urls {
		urls[i].URL = fmt.Sprintf("http://a.example/%d", i)
	}
	urls[2].Meta = make([]byte, 400_000)
	for i, r := range add(t, c, urls...) {
		want := frontier.StatusNew
		if i == 2 {
			want = frontier.StatusRefused
		}
		if r.Status != want || r.Resent || (i == 2) != errors.Is(r.Err, canon.ErrTooLong) {
			t.Errorf("URL %d: got %+v; want %v, at the first sending", i, r, want)
		}
	}
}

func TestBrief(t *testing.T) {
	c := newDaemon(t).open(t, client.Options{})
	r := add(t, c, frontier.Link{URL: "http://a.example/", SkipFirst: true}, frontier.Link{URL: "http://a.example", SkipFirst: true})
	if r[0].Status != frontier.StatusNew || r[1].Status != frontier.StatusDuplicate || r[1].First != "" || r[1].Key != r[0].Key || r[0].Key == (store.Key{}) {
		t.Errorf("got %+v; want verdicts and keys", r)
	}
	r = add(t, c, frontier.Link{URL: "http://a.example/", SkipFirst: true}, frontier.Link{URL: "http://a.example"})
	if r[1].First != "http://a.example/" || r[1].Canonical == "" {
		t.Errorf("got %+v; want the first-seen URL for the link that asks for it", r[1])
	}
}

func TestToken(t *testing.T) {
	d := newDaemon(t, "--tokens", tokenFile(t, "write 0123456789abcdef\nread fedcba9876543210\n"))
	c := d.open(t, client.Options{Token: "0123456789abcdef"})
	add(t, c, frontier.Link{URL: "http://a.example/"})
	reader := d.open(t, client.Options{Token: "fedcba9876543210"})
	var status *client.StatusError
	if _, err := reader.Add(bg, "http://a.example/"); !errors.As(err, &status) || status.Status != http.StatusForbidden {
		t.Errorf("got %v; want a token of scope read refused", err)
	}
	if _, err := client.Open(bg, client.Options{Addr: d.http}); !errors.As(err, &status) || status.Status != http.StatusUnauthorized {
		t.Errorf("got %v; want no token refused", err)
	}
}
