package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// frontiers are the two ways to have a frontier, with the same policy.
var frontiers = map[string]func(*testing.T) frontier.Interface{
	"embedded": func(t *testing.T) frontier.Interface {
		return embedded(t, frontier.Options{Delay: -1, Traps: frontier.Traps{Off: true}})
	},
	"client": func(t *testing.T) frontier.Interface { return newDaemon(t).open(t, client.Options{}) },
}

var conformance = map[string]func(*testing.T, frontier.Interface){
	"one of many is told new":   oneIsNew,
	"verdicts":                  verdicts,
	"order within a batch":      orderInBatch,
	"a URL comes back as given": roundTrip,
	"outcomes":                  outcomes,
	"retries end":               retriesEnd,
	"waiting":                   waiting,
	"the crawl's end":           crawlEnds,
	"redirects":                 redirects,
	"steering":                  steering,
	"lease requests":            leaseRequests,
	"seen without a queue":      seeOnly,
	"looking up":                lookup,
	"contexts and close":        contexts,
}

// TestConformance holds a frontier in the process and one behind a real daemon
// to the same contract.
func TestConformance(t *testing.T) {
	for kind, open := range frontiers {
		for name, test := range conformance {
			t.Run(kind+"/"+name, func(t *testing.T) { test(t, open(t)) })
		}
	}
}

func add(t *testing.T, f frontier.Interface, urls ...frontier.Link) []frontier.Result {
	t.Helper()
	results, err := f.AddBatch(bg, urls)
	if err != nil || len(results) != len(urls) {
		t.Fatalf("got %d results, %v; want %d", len(results), err, len(urls))
	}
	return results
}

func next(t *testing.T, f frontier.Interface) *frontier.Lease {
	t.Helper()
	l, err := f.Next(hang.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func oneIsNew(t *testing.T, f frontier.Interface) {
	const pages, finders = 40, 25
	var mu sync.Mutex
	told := make(map[store.Key]int)
	var wg sync.WaitGroup
	for range finders {
		wg.Go(func() {
			for i := range pages {
				r, err := f.Add(bg, fmt.Sprintf("http://EXAMPLE.com:80/%d#x", i))
				if err != nil {
					t.Error(err)
				}
				if r.Status == frontier.StatusNew {
					mu.Lock()
					told[r.Key]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for key, n := range told {
		if n != 1 {
			t.Errorf("%v was told new %d times", key, n)
		}
	}
	if len(told) != pages {
		t.Errorf("got %d pages new; want %d", len(told), pages)
	}
}

func verdicts(t *testing.T, f frontier.Interface) {
	r := add(t, f, frontier.Link{URL: "http://Example.org/a?b=1&a=2"}, frontier.Link{URL: "http://example.org:80/a?a=2&b=1#top"},
		frontier.Link{URL: "mailto:x@example.org"}, frontier.Link{URL: "http://"}, frontier.Link{URL: "http://example.org/", Crawl: "*"})
	want := hashkey.Sum([]byte("http://example.org/a?a=2&b=1")).Short()
	if r[0].Status != frontier.StatusNew || r[0].Canonical != "http://example.org/a?a=2&b=1" || r[0].Key != want || r[0].Queue != "example.org" || r[0].First != "" {
		t.Errorf("got %+v; want it new, with form, key and queue", r[0])
	}
	if r[1].Status != frontier.StatusDuplicate || r[1].Key != want || r[1].First != "http://Example.org/a?b=1&a=2" || r[1].Resent {
		t.Errorf("got %+v; want a duplicate with the first spelling", r[1])
	}
	if r[2].Reason != frontier.ReasonScheme || !errors.Is(r[2].Err, canon.ErrScheme) || r[2].Status != frontier.StatusRefused {
		t.Errorf("got %+v; want a refusal of the scheme", r[2])
	}
	if r[3].Reason != frontier.ReasonURL || !errors.Is(r[3].Err, canon.ErrURL) {
		t.Errorf("got %+v; want no URL", r[3])
	}
	if r[4].Reason != frontier.ReasonCrawl || r[4].Err != nil {
		t.Errorf("got %+v; want a refusal of the crawl", r[4])
	}
	add(t, f, frontier.Link{URL: "http://example.org/done"})
	if err := f.Done(bg, next(t, f)); err != nil {
		t.Fatal(err)
	}
	forced := add(t, f, frontier.Link{URL: "http://example.org/a?a=2&b=1", Force: true})
	if forced[0].Status != frontier.StatusDuplicate || !forced[0].Requeued {
		t.Errorf("got %+v; want it queued again", forced[0])
	}
	if r := add(t, f); len(r) != 0 {
		t.Errorf("got %v of nothing", r)
	}
}

// orderInBatch uses a batch of several requests.
func orderInBatch(t *testing.T, f frontier.Interface) {
	const n = 2500
	urls := make([]frontier.Link, 2*n)
	for i := range n {
		urls[i].URL, urls[n+i].URL = fmt.Sprintf("http://example.com/%d", i), fmt.Sprintf("http://example.com/./%d", i)
	}
	for i, r := range add(t, f, urls...) {
		if want := map[bool]frontier.Status{true: frontier.StatusNew, false: frontier.StatusDuplicate}[i < n]; r.Status != want {
			t.Fatalf("got %v at %d; want %v", r.Status, i, want)
		}
	}
}

func roundTrip(t *testing.T, f frontier.Interface) {
	given := []frontier.Link{
		{URL: "http://a.example/\"q\\\t\u00e9?x=<&>", Meta: []byte{0, 1, 0xff, '"'}, Depth: 3, Priority: 2, Discriminator: "POST \"\n"},
		{URL: "http://b.example/caf\xe9", Queue: "of \u00e9 \"my\" own", Crawl: "other"},
		{URL: "http://c.example/", Due: time.Now().Add(-time.Hour)},
	}
	if r := add(t, f, given...); r[0].Status != frontier.StatusNew || r[1].Status != frontier.StatusNew || r[2].Status != frontier.StatusNew {
		t.Fatalf("got %+v", r)
	}
	before := time.Now()
	got := make(map[string]*frontier.Lease)
	leases, _, err := f.Lease(bg, frontier.LeaseRequest{Crawl: "*", Max: len(given)})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		got[l.URL] = l
	}
	for _, u := range given {
		l := got[u.URL]
		if l == nil {
			t.Fatalf("%q didn't come back; got %v", u.URL, got)
		}
		if string(l.Meta) != string(u.Meta) || l.Depth != u.Depth || l.Priority != u.Priority || l.Discriminator != u.Discriminator || l.Attempts != 1 {
			t.Errorf("got %+v; want what was given, %+v", l, u)
		}
		if u.Queue != "" && (l.Queue != u.Queue || l.Crawl != u.Crawl) || u.Queue == "" && l.Crawl != store.DefaultCrawl {
			t.Errorf("got queue %q of crawl %q; want %q of %q", l.Queue, l.Crawl, u.Queue, u.Crawl)
		}
		if l.Created.IsZero() || l.Expires.Sub(before) < time.Minute || l.Started.Before(before) {
			t.Errorf("got created %v, started %v, expires %v; want times of now, and 2 minutes", l.Created, l.Started, l.Expires)
		}
		if err := f.Done(bg, l); err != nil {
			t.Error(err)
		}
	}
}

func seeOnly(t *testing.T, f frontier.Interface) {
	urls := []frontier.Link{{URL: "http://example.com/"}, {URL: "http://example.com"}, {URL: "tel:1"}}
	r, err := f.See(bg, urls)
	if err != nil || r[0].Status != frontier.StatusNew || r[1].Status != frontier.StatusDuplicate || r[2].Status != frontier.StatusRefused {
		t.Fatalf("got %+v, %v", r, err)
	}
	if s, err := f.Stats(bg, ""); err != nil || s.Seen != 1 || s.Held != 0 {
		t.Errorf("got %+v, %v; want one seen and none held", s, err)
	}
}

func lookup(t *testing.T, f frontier.Interface) {
	u := frontier.Link{URL: "http://EXAMPLE.com/a?b&c=\xff", Discriminator: "PUT"}
	if _, err := f.Lookup(bg, u); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	if _, err := f.Lookup(bg, frontier.Link{URL: "mailto:x"}); !errors.Is(err, canon.ErrScheme) {
		t.Errorf("got %v; want the scheme refused", err)
	}
	key := add(t, f, u)[0].Key
	is := func(want store.State) {
		t.Helper()
		e, err := f.Lookup(bg, frontier.Link{URL: "http://example.com/a?b&c=\xff#x", Discriminator: "PUT"})
		if err != nil || e.State != want || e.Key != key || e.Canonical == "" || e.Entry.Queue != "example.com" || e.Crawl != store.DefaultCrawl {
			t.Errorf("got %+v, %v; want it in state %d", e, err, want)
		}
	}
	is(store.Queued)
	if e, err := f.Lookup(bg, u); err != nil || e.URL != u.URL {
		t.Errorf("got %q, %v; want the URL as it was offered, %q", e.URL, err, u.URL)
	}
	l := next(t, f)
	is(store.Leased)
	if err := f.Done(bg, l); err != nil {
		t.Error(err)
	}
	is(store.Done)
}

func contexts(t *testing.T, f frontier.Interface) {
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next: got %v; want the context's error", err)
	}
	if _, err := f.Add(ctx, "http://example.com/"); !errors.Is(err, context.Canceled) {
		t.Errorf("Add: got %v; want the context's error", err)
	}
	ended := make(chan error)
	go func() {
		_, err := f.Next(bg)
		ended <- err
	}()
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; !errors.Is(err, store.ErrClosed) {
		t.Errorf("Next: got %v; want store.ErrClosed", err)
	}
	_, err := f.Add(bg, "http://example.com/")
	_, _, errLease := f.Lease(bg, frontier.LeaseRequest{})
	_, errStats := f.Stats(bg, "")
	for _, err := range []error{err, errLease, errStats} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v after Close; want store.ErrClosed", err)
		}
	}
}
