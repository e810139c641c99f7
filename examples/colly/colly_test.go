package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

const (
	pages   = 50
	finders = 16 // goroutines that find each page at the same moment
)

// remoteStorage is colly's own storage behind a network: each call takes a round trip, which a
// pause simulates.
type remoteStorage struct {
	storage.InMemoryStorage
	trip time.Duration
}

func (s *remoteStorage) IsVisited(id uint64) (bool, error) {
	time.Sleep(s.trip)
	return s.InMemoryStorage.IsVisited(id)
}

func (s *remoteStorage) Visited(id uint64) error {
	time.Sleep(s.trip)
	return s.InMemoryStorage.Visited(id)
}

// TestRace lets 16 goroutines find each of 50 pages at once. 750 of these 800
// visits are duplicates; colly's check, then mark, lets many of them through,
// the atomic step none.
func TestRace(t *testing.T) {
	t.Run("colly's check-then-visit", func(t *testing.T) {
		c := colly.NewCollector()
		if err := c.SetStorage(&remoteStorage{trip: 500 * time.Microsecond}); err != nil {
			t.Fatal(err)
		}
		// It is colly's to mend: should it ever fetch nothing twice, this
		// example has lost its reason, and the text must change.
		if n := duplicates(t, c); n == 0 {
			t.Error("got no duplicate fetches; want the race shown")
		} else {
			t.Logf("%d of %d possible duplicates fetched", n, pages*(finders-1))
		}
	})
	t.Run("one atomic step", func(t *testing.T) {
		f := open(t)
		c := colly.NewCollector(colly.AllowURLRevisit())
		Once(context.Background(), c, f)
		if n := duplicates(t, c); n != 0 {
			t.Errorf("got %d duplicate fetches; want none", n)
		}
	})
}

// duplicates counts fetches beyond the first of each page.
func duplicates(t *testing.T, c *colly.Collector) int {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer server.Close()
	for page := range pages {
		var start, wg sync.WaitGroup
		start.Add(1)
		for range finders {
			wg.Go(func() {
				start.Wait()
				_ = c.Visit(fmt.Sprintf("%s/%d", server.URL, page)) // refused visits return errors
			})
		}
		start.Done()
		wg.Wait()
	}
	if n := int(served.Load()); n < pages {
		t.Errorf("got %d fetches; want each of %d pages fetched", n, pages)
	}
	return int(served.Load()) - pages
}

func open(t *testing.T) *frontier.Frontier {
	t.Helper()
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// site serves redirects and pages; /old and /also go to /new, /slash to itself
// under another spelling.
func site(t *testing.T, served map[string]int) *httptest.Server {
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served[r.URL.Path]++
		mu.Unlock()
		switch r.URL.Path {
		case "/old", "/also":
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
		case "//page":
			w.Header().Set("Location", "/page")
			w.WriteHeader(http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/new#a">1</a> <a href="/new?">2</a> <a href="/%6eew">3</a> <a href="/page">4</a>`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestRedirectsArePartOfIt(t *testing.T) {
	served := map[string]int{}
	server := site(t, served)
	c := colly.NewCollector(colly.AllowURLRevisit())
	Once(context.Background(), c, open(t))
	for _, path := range []string{"/old", "/also", "/new", "//page", "/page"} {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Visit(u.String() + path)
	}
	if served["/new"] != 1 {
		t.Errorf("got /new %d times; want once, though two redirects and a link lead there", served["/new"])
	}
	if served["/page"] != 1 {
		t.Errorf("got /page %d times; want once, by the redirect from its other spelling", served["/page"])
	}
}

func TestDriveFetchesEachPageOnce(t *testing.T) {
	served := map[string]int{}
	server := site(t, served)
	f := open(t)
	for _, path := range []string{"/old", "/", "//page"} {
		if _, err := f.Add(context.Background(), server.URL+path); err != nil {
			t.Fatal(err)
		}
	}
	if err := Drive(context.Background(), colly.NewCollector(), f); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/new", "/page"} {
		if served[path] != 1 {
			t.Errorf("got %s %d times; want once: %v", path, served[path], served)
		}
	}
}

// TestOtherSeedsInTheSameCrawl runs the command twice in one crawl: what the first run
// found and did not follow is fetched when a second run names it.
func TestOtherSeedsInTheSameCrawl(t *testing.T) {
	var mu sync.Mutex
	served := map[string]int{}
	serve := func(name string, page func() string) *httptest.Server {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			served[name+r.URL.Path]++
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, page())
		}))
		t.Cleanup(server.Close)
		return server
	}
	b := serve("b", func() string { return `<a href="/2">2</a>` })
	other := strings.Replace(b.URL, "127.0.0.1", "localhost", 1) + "/" // another host
	a := serve("a", func() string { return `<a href="/2">2</a> <a href="` + other + `">elsewhere</a>` })
	dir := t.TempDir()
	for _, seed := range []string{a.URL + "/", other} {
		if err := run(t.Context(), dir, "", "news", "", seed); err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range []string{"a/", "a/2", "b/", "b/2"} {
		if served[page] != 1 {
			t.Errorf("got %s %d times; want once: %v", page, served[page], served)
		}
	}
}
