package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// shared are the two ways in which crawlers share a store; open opens a frontier that
// works on a crawl.
var shared = map[string]func(*testing.T) (open func(crawl string) frontier.Interface){
	"embedded": func(t *testing.T) func(string) frontier.Interface {
		s, err := pebblestore.Open(filepath.Join(t.TempDir(), "db"), pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return func(crawl string) frontier.Interface {
			f, err := frontier.New(s, frontier.Options{Crawl: crawl, Delay: -1})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, f)
			return f
		}
	},
	"client": func(t *testing.T) func(string) frontier.Interface {
		d := newDaemon(t)
		return func(crawl string) frontier.Interface { return d.open(t, client.Options{Crawl: crawl}) }
	},
}

// TestLoopsKeepToTheirCrawl has crawlers of three crawls share a store. Each is handed
// the URLs of its own crawl, all of them and no others, and ends when these are done.
func TestLoopsKeepToTheirCrawl(t *testing.T) {
	for kind, share := range shared {
		t.Run(kind, func(t *testing.T) {
			open := share(t)
			crawls := map[string]frontier.Interface{"": open(""), "news": open("news"), "shop": open("shop")}
			const pages = 40
			for name, f := range crawls {
				for i := range pages {
					r, err := f.Add(bg, fmt.Sprintf("http://host%d.example/%d", i%4, i)) // the same pages in each
					if err != nil || r.Status != frontier.StatusNew {
						t.Fatalf("crawl %q: got %+v, %v; want the page new in each crawl", name, r, err)
					}
				}
			}
			leftAlone := open("untouched")
			add(t, leftAlone, frontier.Link{URL: "http://host0.example/"})
			var wg sync.WaitGroup
			for name, f := range crawls {
				for range 3 {
					wg.Go(func() { crawl(t, f, name) })
				}
			}
			wg.Wait()
			for name, f := range crawls {
				if s, err := f.Stats(bg, ""); err != nil || s.Held != 0 || s.Completed != pages {
					t.Errorf("crawl %q: got %+v, %v; want all pages completed", name, s, err)
				}
			}
			onlyOwn(t, crawls["news"], leftAlone)
		})
	}
}

// crawl completes what a frontier hands out, and wants all of it of one crawl.
func crawl(t *testing.T, f frontier.Interface, name string) {
	for l, err := range f.Leases(hang.Context(t)) {
		if err != nil {
			t.Errorf("crawl %q: %v", name, err)
			return
		}
		if l.Crawl != cmp.Or(name, store.DefaultCrawl) {
			t.Errorf("crawl %q: got %s of crawl %q", name, l.URL, l.Crawl)
		}
		if err := f.Done(bg, l); err != nil {
			t.Error(err)
		}
	}
}

// onlyOwn asks in all ways for something of one crawl, while another holds a URL.
func onlyOwn(t *testing.T, empty, other frontier.Interface) {
	ctx, cancel := context.WithTimeout(bg, 300*time.Millisecond)
	defer cancel()
	if l, err := empty.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next: got %v, %v; want nothing of another crawl", l, err)
	}
	if leases, _, err := empty.Lease(bg, frontier.LeaseRequest{Max: 9}); err != nil || len(leases) != 0 {
		t.Errorf("Lease: got %v, %v; want nothing of another crawl", leases, err)
	}
	if _, err := empty.Lookup(bg, frontier.Link{URL: "http://host0.example/"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Lookup: got %v; want ErrNotFound", err)
	}
	if err := block(empty, "", "host0.example", time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	leases, _, err := other.Lease(bg, frontier.LeaseRequest{Max: 9})
	if err != nil || len(leases) != 1 || leases[0].Crawl != "untouched" {
		t.Errorf("got %v, %v; want the URL that was left alone", leases, err)
	}
}

// TestAllCrawlsAreTakenFromWhenAskedFor has one fetcher serve all crawls.
func TestAllCrawlsAreTakenFromWhenAskedFor(t *testing.T) {
	for kind, share := range shared {
		t.Run(kind, func(t *testing.T) {
			open := share(t)
			all := open("*")
			add(t, all, frontier.Link{URL: "http://a.example/"}, frontier.Link{URL: "http://a.example/", Crawl: "news"})
			add(t, open("shop"), frontier.Link{URL: "http://a.example/"})
			var got []string
			for l, err := range all.Leases(hang.Context(t)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, l.Crawl)
				if err := all.Done(bg, l); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(got)
			if want := []string{store.DefaultCrawl, "news", "shop"}; !slices.Equal(got, want) {
				t.Errorf("got URLs of crawls %q; want %q", got, want)
			}
			add(t, open("shop"), frontier.Link{URL: "http://a.example/2"})
			leases, _, err := open("").Lease(bg, frontier.LeaseRequest{Crawl: "*"})
			if err != nil || len(leases) != 1 || leases[0].Crawl != "shop" {
				t.Errorf("got %v, %v; want the URL of another crawl, which was asked for", leases, err)
			}
		})
	}
}
