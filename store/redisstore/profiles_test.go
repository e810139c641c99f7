package redisstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// TestDaemonsAgreeOnACrawlsProfile sets the profile of crawls on one daemon while another
// adds their first URL, and asks a third, begun before, and a fourth, begun after.
func TestDaemonsAgreeOnACrawlsProfile(t *testing.T) {
	t.Parallel()
	addr := redisstore.SharedServer(t)
	daemon := func() *frontier.Frontier {
		s, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{addr}, Prefix: "profiles:", Shards: 8, Replicas: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		f, err := frontier.New(s, frontier.Options{Delay: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	add := func(f *frontier.Frontier, u frontier.Link) frontier.Result {
		t.Helper()
		r, err := f.AddBatch(t.Context(), []frontier.Link{u})
		if err != nil {
			t.Fatal(err)
		}
		return r[0]
	}
	a, b, c := daemon(), daemon(), daemon()
	const crawls = 40
	set := [crawls]error{}
	link := func(i int) frontier.Link {
		return frontier.Link{URL: "http://a.example/?b=1&a=2", Crawl: fmt.Sprint(i)}
	}
	for i := range crawls {
		var wg sync.WaitGroup
		wg.Go(func() { set[i] = a.SetCrawlProfile(t.Context(), link(i).Crawl, canon.WHATWG()) })
		if i%2 == 0 { // else the profile is there first
			if r := add(b, link(i)); r.Status != frontier.StatusNew {
				t.Errorf("crawl %d: got %v; want new", i, r.Status)
			}
		}
		wg.Wait()
		if i%2 == 1 && set[i] != nil || set[i] != nil && !errors.Is(set[i], store.ErrIdentity) {
			t.Fatalf("crawl %d: %v", i, set[i])
		}
		if i%2 == 1 {
			add(b, link(i))
		}
	}
	for n, f := range []*frontier.Frontier{a, b, c, daemon()} {
		for i := range crawls {
			want := link(i).URL
			if set[i] != nil {
				want = "http://a.example/?a=2&b=1"
			}
			if r := add(f, link(i)); r.Status != frontier.StatusDuplicate || r.Canonical != want {
				t.Errorf("daemon %d, crawl %d, profile set: %v: got %v of %q; want duplicate of %q", n, i, set[i], r.Status, r.Canonical, want)
			}
		}
	}
	leases, _, err := c.Lease(t.Context(), frontier.LeaseRequest{Max: 2, Crawl: "1"})
	if err != nil || len(leases) != 1 {
		t.Errorf("got %d leases, %v; want one", len(leases), err)
	}
}

// TestForgottenCrawlLeavesNoRules: the exclusions and the order of a crawl go with it, for every daemon.
func TestForgottenCrawlLeavesNoRules(t *testing.T) {
	t.Parallel()
	s, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{redisstore.SharedServer(t)}, Prefix: "forgotten:", Shards: 8, Replicas: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	f, err := frontier.New(s, frontier.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Exclude(t.Context(), "old", "a.example/secret/"); err != nil {
		t.Fatal(err)
	}
	if err := f.SetDepthFirst(t.Context(), "old", true); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Forget(t.Context(), frontier.Selection{Crawl: "old"}); err != nil {
		t.Fatal(err)
	}
	for q, err := range s.Queues(t.Context(), frontier.OwnCrawl, "") {
		if err != nil || q.Paused || q.Limit > 0 {
			t.Errorf("got %q, %v; want no rule in force", q.Name, err)
		}
	}
	r, err := f.AddBatch(t.Context(), []frontier.Link{{URL: "http://a.example/secret/1", Crawl: "old"}})
	if err != nil || r[0].Status != frontier.StatusNew {
		t.Errorf("got %+v, %v; want the URL taken by a new crawl of that name", r, err)
	}
}
