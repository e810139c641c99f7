package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// outcomes settles a URL with each outcome, and checks the result.
func outcomes(t *testing.T, f frontier.Interface) {
	add(t, f, frontier.Link{URL: "http://example.com/", Meta: []byte("m"), Depth: 1})
	l := next(t, f)
	if err := f.Release(bg, l); err != nil {
		t.Fatal(err)
	}
	if l = next(t, f); l.Attempts != 2 {
		t.Errorf("got attempt %d after a release; want 2", l.Attempts)
	}
	again, err := f.Retry(bg, l, time.Now())
	if err != nil || !again {
		t.Fatalf("got %t, %v; want another attempt", again, err)
	}
	l = next(t, f)
	stale := *l
	if err := extend(f, l, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := f.Recrawl(bg, l, time.Now()); err != nil {
		t.Fatal(err)
	}
	if l = next(t, f); l.Attempts != 1 || string(l.Meta) != "m" || l.Depth != 1 {
		t.Errorf("got %+v after a recrawl; want attempt 1, and its data", l)
	}
	p := uint8(3)
	settled, err := f.Settle(bg, []frontier.Settlement{
		{Lease: &stale, Outcome: frontier.Done},
		{Lease: l, Outcome: frontier.Recrawl, Meta: []byte("other"), Priority: &p},
	})
	if err != nil || settled[0] != frontier.Stale || settled[1] != frontier.OK {
		t.Fatalf("got %v, %v; want stale and ok", settled, err)
	}
	if l = next(t, f); string(l.Meta) != "other" || l.Priority != 3 || l.Depth != 1 {
		t.Errorf("got %+v; want other data and priority", l)
	}
	if err := f.Done(bg, l); err != nil {
		t.Fatal(err)
	}
	if err := f.Done(bg, l); !errors.Is(err, frontier.ErrStale) {
		t.Errorf("got %v; want ErrStale for a lease that is over", err)
	}
	if s, err := f.Stats(bg, ""); err != nil || s != (store.Stats{Seen: 1, Completed: 1, Fetched: 3, Queues: 1}) {
		t.Errorf("got %+v, %v; want one completed", s, err)
	}
	if _, err := f.Settle(bg, nil); err != nil {
		t.Error(err)
	}
}

func retriesEnd(t *testing.T, f frontier.Interface) {
	add(t, f, frontier.Link{URL: "http://example.com/"})
	for i := 1; i <= 5; i++ {
		again, err := f.Retry(bg, next(t, f), time.Now())
		if err != nil || again != (i < 5) {
			t.Fatalf("got %t, %v at attempt %d; want 5 attempts", again, err, i)
		}
	}
	if s, err := f.Stats(bg, ""); err != nil || s.Held != 0 || s.Seen != 1 || s.Completed != 0 {
		t.Errorf("got %+v, %v; want it dropped", s, err)
	}
}

func waiting(t *testing.T, f frontier.Interface) {
	const waiters = 10
	got := make(chan string, waiters)
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() { got <- next(t, f).URL })
	}
	gone, cancel := context.WithTimeout(bg, 10*time.Millisecond)
	defer cancel()
	if _, err := f.Next(gone); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want the context's error", err)
	}
	for i := range waiters {
		add(t, f, frontier.Link{URL: fmt.Sprintf("http://host%d.example/", i)})
	}
	wg.Wait()
	close(got)
	seen := make(map[string]bool)
	for url := range got {
		seen[url] = true
	}
	if len(seen) != waiters {
		t.Errorf("got %d different URLs for %d who waited", len(seen), waiters)
	}
}

// crawlEnds crawls a tree of pages with several loops, which end together.
func crawlEnds(t *testing.T, f frontier.Interface) {
	add(t, f, frontier.Link{URL: "http://host0.example/"})
	var fetched atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for l, err := range f.Leases(bg) {
				if err != nil {
					t.Error(err)
					return
				}
				fetched.Add(1)
				var links []string
				for i := range 4 {
					links = append(links, fmt.Sprintf("http://host%d.example/%d", i, l.Depth))
				}
				if l.Depth < 3 {
					if _, err := f.AddBatch(bg, frontier.Links(l, links...)); err != nil {
						t.Error(err)
					}
				}
				if err := f.Done(bg, l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := fetched.Load(); n != 13 {
		t.Errorf("got %d pages; want 13", n)
	}
}

func redirects(t *testing.T, f frontier.Interface) {
	add(t, f, frontier.Link{URL: "http://a.example/x/../1", Meta: []byte{1}, Priority: 2, Depth: 2, Discriminator: "d"})
	l := next(t, f)
	same, err := f.Redirect(bg, l, "http://a.example/1")
	if err != nil || same.Follow == nil || same.Follow.URL != "http://a.example/1" || same.Follow.Redirects != 1 || same.Follow.Token != l.Token {
		t.Fatalf("got %+v, %v; want to follow under the same lease", same, err)
	}
	if string(same.Follow.Meta) != "\x01" || same.Target.Status != frontier.StatusDuplicate || same.Target.First != l.URL {
		t.Errorf("got %+v, lease %+v; want the page itself, with its data", same.Target, same.Follow)
	}
	other, err := f.Redirect(bg, same.Follow, "http://b.example/caf\xe9")
	if err != nil || other.Follow != nil || other.Target.Status != frontier.StatusNew || other.Target.Queue != "b.example" {
		t.Fatalf("got %+v, %v; want another page, queued", other, err)
	}
	target := next(t, f)
	if target.URL != "http://b.example/caf\xe9" || target.Depth != 2 || target.Priority != 2 || target.Redirects != 2 {
		t.Errorf("got %+v; want the target at the depth and priority of its source, 2 hops", target)
	}
	if _, err := f.Redirect(bg, same.Follow, "http://c.example/"); !errors.Is(err, frontier.ErrStale) && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want ErrStale for a lease that is over", err)
	}
	for l = target; ; {
		r, err := f.Redirect(bg, l, fmt.Sprintf("http://b.example/hop%d", l.Redirects))
		if err != nil {
			t.Fatal(err)
		}
		if r.Target.Status == frontier.StatusRefused {
			if r.Target.Reason != frontier.ReasonRedirects || l.Redirects != 10 {
				t.Errorf("got %+v after %d hops; want the end of a chain after 10", r.Target, l.Redirects)
			}
			break
		}
		l = next(t, f)
	}
}

func steering(t *testing.T, f frontier.Interface) {
	if err := block(f, "", "a.example", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	add(t, f, frontier.Link{URL: "http://a.example/1"}, frontier.Link{URL: "http://a.example/2"})
	if leases, _, err := f.Lease(bg, frontier.LeaseRequest{Max: 5}); err != nil || len(leases) != 0 {
		t.Fatalf("got %v, %v; want nothing of a blocked queue", leases, err)
	}
	soon := time.Now().Add(300 * time.Millisecond)
	if err := block(f, "", "a.example", soon); err != nil {
		t.Fatal(err)
	}
	l := next(t, f)
	if time.Now().Before(soon) {
		t.Error("a blocked queue was served")
	}
	until := time.Now().Add(time.Hour)
	if err := retryAfter(f, l, until); err != nil {
		t.Fatal(err)
	}
	if err := block(f, "", "a.example", time.Time{}); err != nil {
		t.Fatal(err)
	}
	delay := 200 * time.Millisecond
	if err := f.Configure(bg, "", "a.example", store.QueueChange{Delay: &delay}); err != nil {
		t.Fatal(err)
	}
	asked := time.Now() // before the hand-out, from which the delay counts
	if l = next(t, f); l.URL != "http://a.example/2" {
		t.Errorf("got %s; want the other page, since the first is for later", l.URL)
	}
	if err := f.Done(bg, l); err != nil {
		t.Fatal(err)
	}
	add(t, f, frontier.Link{URL: "http://a.example/3"})
	if l = next(t, f); time.Since(asked) < delay-2*time.Millisecond { // the store keeps whole ones
		t.Errorf("got %s after %v; want the queue's delay kept", l.URL, time.Since(asked))
	}
}

func leaseRequests(t *testing.T, f frontier.Interface) {
	var urls []frontier.Link
	for i := range 12 {
		urls = append(urls, frontier.Link{URL: fmt.Sprintf("http://host%d.example/%d", i%2, i)})
	}
	add(t, f, urls...)
	count := func(req frontier.LeaseRequest, want int) []*frontier.Lease {
		t.Helper()
		leases, _, err := f.Lease(bg, req)
		if err != nil || len(leases) != want {
			t.Errorf("got %d leases, %v of %+v; want %d", len(leases), err, req, want)
		}
		return leases
	}
	if leases, _, err := f.Lease(bg, frontier.LeaseRequest{Max: 12}); err != nil || len(leases) != 2 {
		t.Fatalf("got %v, %v; want one of each host", leases, err)
	}
	count(frontier.LeaseRequest{Max: 12}, 0)
	count(frontier.LeaseRequest{Max: 12, MaxPerQueue: 2, MaxInFlight: 3}, 4)
	for _, l := range count(frontier.LeaseRequest{Crawl: store.DefaultCrawl, Queue: "host0.example", Max: 12, MaxPerQueue: 2, MaxInFlight: -1, Lease: 50 * time.Millisecond}, 2) {
		if l.Queue != "host0.example" || time.Until(l.Expires) > 2*time.Second {
			t.Errorf("got %+v; want a short lease of the queue asked for", l)
		}
	}
	count(frontier.LeaseRequest{Max: 12, MaxQueues: 1, MaxPerQueue: 2, MaxInFlight: -1}, 2)
	count(frontier.LeaseRequest{Crawl: "none", Max: 12}, 0)
	if _, _, err := f.Lease(bg, frontier.LeaseRequest{Crawl: "*", Queue: "host0.example"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v; want ErrInvalid for a queue of no one crawl", err)
	}
}
