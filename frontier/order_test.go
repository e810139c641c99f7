package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestDepthFirstWalks crawls random trees of links, as deep as 40, and compares the order with a walk over the tree.
func TestDepthFirstWalks(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		below := map[string][]string{"http://a.example/": nil}
		names := []string{"http://a.example/"}
		for n := range 60 {
			name := fmt.Sprintf("http://a.example/%d", n)
			of := names[max(rng.IntN(len(names)), rng.IntN(len(names)))]
			names, below[of] = append(names, name), append(below[of], name)
		}
		var deep, broad []string
		var walk func(string)
		walk = func(url string) {
			deep = append(deep, url)
			for _, url := range below[url] {
				walk(url)
			}
		}
		walk(names[0])
		broad = append(broad, names[0])
		for i := 0; i < len(broad); i++ {
			broad = append(broad, below[broad[i]]...)
		}
		s := memstore.New(memstore.Options{})
		f := openOn(t, s, Options{Delay: -1, Traps: Traps{Off: true}})
		must(t, f.SetDepthFirst(bg, "deep", true))
		must(t, f.Close()) // the setting outlives it
		f = openOn(t, s, Options{Delay: -1, Traps: Traps{Off: true}})
		for crawl, want := range map[string][]string{"deep": deep, "": broad} {
			if f.DepthFirst(crawl) != (crawl == "deep") {
				t.Fatalf("got depth first %v of crawl %q", f.DepthFirst(crawl), crawl)
			}
			addAll(t, f, Link{URL: names[0], Crawl: crawl})
			for e, err := range f.Entries(bg, crawl, "") {
				if must(t, err); !e.Due.Equal(e.Created) {
					t.Errorf("got an entry due at %v; want %v, when it was found", e.Due, e.Created)
				}
			}
			var got []string
			for range want {
				leases, _, err := f.Lease(bg, LeaseRequest{Crawl: crawl, Max: 1})
				if must(t, err); len(leases) != 1 {
					t.Fatalf("got %d leases; want one", len(leases))
				}
				l := leases[0]
				got = append(got, l.URL)
				addAll(t, f, Links(l, below[l.URL]...)...)
				must(t, f.Done(bg, l))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, crawl %q: got %v; want %v", seed, crawl, got, want)
			}
		}
	}
}

// configured is a store that counts changes of queues.
type configured struct {
	store.Store
	n int
}

func (s *configured) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	s.n++
	return s.Store.Configure(ctx, crawl, queue, c)
}

// TestOrderOfCrawls checks that the order of one crawl touches no other, holds for all by "*", and is no exclusion.
func TestOrderOfCrawls(t *testing.T) {
	s := &configured{Store: memstore.New(memstore.Options{})}
	f := openOn(t, s, Options{})
	order := func(crawl string, on bool) { must(t, f.SetDepthFirst(bg, crawl, on)) }
	is := func(crawl string, want bool) {
		t.Helper()
		if got := f.deepFirst(crawl); got != want {
			t.Errorf("got depth first %v of crawl %q; want %v", got, crawl, want)
		}
	}
	order("a", false)
	order("a", true)
	order("a", true)
	if s.n != 1 {
		t.Errorf("got %d changes of the store; want none for what is so already", s.n)
	}
	is("a", true)
	is("b", false)
	order("*", true)
	is("b", true)
	order("*", false)
	is("b", false)
	is("a", true)
	if list := f.Exclusions("*"); len(list) > 0 {
		t.Errorf("got exclusions %v; want none", list)
	}
	if _, err := f.Exclude(bg, "a", "/private"); err != nil {
		t.Error(err)
	}
	is("a", true)
	order("a", false)
	order("a", false)
	is("a", false)
	if list := f.Exclusions("a"); len(list) != 1 {
		t.Errorf("got exclusions %v; want one", list)
	}
}

// TestUrgentGoesFirst has 2,000 hosts with a URL each, ready at the same time, and URLs that are urgent when they are offered, or are
// raised later.
func TestUrgentGoesFirst(t *testing.T) {
	f := openKeep(t, false, Options{})
	var links []Link
	for n := range 2000 {
		links = append(links, Link{URL: fmt.Sprintf("http://h%d.example/", n)})
	}
	addAll(t, f, links...)
	leaseOne(t, f)
	urgent := Link{URL: "http://h1500.example/news", Priority: store.Urgent}
	addAll(t, f, urgent)
	if l := leaseOne(t, f); l.URL != urgent.URL {
		t.Errorf("got %s; want %s", l.URL, urgent.URL)
	}
	leaseOne(t, f) // of the others it is every second turn at least
	r := addAll(t, f, Link{URL: "http://h1700.example/", Priority: store.Urgent, Raise: true})
	if l := leaseOne(t, f); !r[0].Raised || l.URL != "http://h1700.example/" {
		t.Errorf("got %+v and %s; want the raised URL", r[0], l.URL)
	}
}

// TestGroupsShareAGate offers URLs of 20 hosts of one server and of 20 of their own.
func TestGroupsShareAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		f := openOn(t, s, Options{Delay: time.Second})
		var links []Link
		for n := range 20 {
			links = append(links, Link{URL: fmt.Sprintf("http://a%d.example/", n), Group: "192.0.2.1"}, Link{URL: fmt.Sprintf("http://b%d.example/", n)})
		}
		addAll(t, f, links...)
		addAll(t, f, Link{URL: "http://a3.example/more", Group: "192.0.2.2"}) // the first holds
		if q, err := f.Queue(bg, "", "a3.example"); err != nil || q.Group != "192.0.2.1" {
			t.Errorf("got group %q, %v; want the first", q.Group, err)
		}
		took := 0
		for took < 41 {
			leases, _, err := f.Lease(bg, LeaseRequest{Max: 100})
			must(t, err)
			grouped := 0
			for _, l := range leases {
				grouped += strings.Count(l.Queue[:1], "a")
				must(t, f.Done(bg, l))
			}
			if took == 0 && len(leases) != 21 || grouped > 1 {
				t.Fatalf("got %d leases, %d of the group; want 1 of it each second, and all others at once", len(leases), grouped)
			}
			took += len(leases)
			time.Sleep(time.Second)
		}
		if r := addOne(t, f, Link{URL: "http://c.example/", Group: strings.Repeat("g", 256)}); r.Reason != ReasonGroup || r.Err == nil {
			t.Errorf("got %+v; want a refusal", r)
		}
	})
}

// TestForgottenGroupsAreJoinedAgain: what a frontier remembers of groups ends with the crawl.
func TestForgottenGroupsAreJoinedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedStore{newCountingStore()}
		f, other := openOn(t, s, Options{}), openOn(t, s, Options{})
		for _, by := range []*Frontier{f, f, other, f} {
			addAll(t, f, Link{URL: "http://a.example/", Group: "192.0.2.1"})
			if q, err := f.Queue(bg, "", "a.example"); err != nil || q.Group != "192.0.2.1" {
				t.Fatalf("got group %q, %v; want that of the offer", q.Group, err)
			}
			_, err := by.Forget(bg, Selection{})
			must(t, err)
			if by == other {
				time.Sleep(exclusionsKnown)
			}
		}
	})
}

// TestLimitOfADirectory: a directory with a queue of its own has a limit of its own, and in the group of its host it shares the host's delay.
func TestLimitOfADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: time.Second})
		for i := range 6 {
			addAll(t, f, Link{URL: fmt.Sprintf("http://a.example/shop/%d", i), Queue: "a.example/shop", Group: "a.example"},
				Link{URL: fmt.Sprintf("http://a.example/%d", i), Group: "a.example"})
		}
		limit := int64(2)
		must(t, f.Configure(bg, "", "a.example/shop", store.QueueChange{Limit: &limit}))
		began, fetched := time.Now(), map[string]int{}
		var end error
		for l, err := range f.Leases(bg) {
			if end = err; err == nil {
				fetched[l.Queue]++
				must(t, f.Done(bg, l))
			}
		}
		if took := time.Since(began); fetched["a.example/shop"] != 2 || fetched["a.example"] != 6 || took != 7*time.Second || !errors.Is(end, ErrLimited) {
			t.Errorf("got %v in %v, %v; want 2 of the directory and 6 others, one a second, and that the rest is limited", fetched, took, end)
		}
	})
}
