// Command recrawl visits two pages repeatedly, each as often as it changes. With -db the schedule
// is on disk.
//
//	go run ./examples/recrawl -for 5s [-db DIR] [-crawl NAME]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	dir := flag.String("db", "", "directory of the frontier; in memory when empty")
	crawl := flag.String("crawl", "", "crawl to work on; others in the same directory are left alone")
	span := flag.Duration("for", 5*time.Second, "how long to run")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *span)
	defer cancel()
	if err := run(ctx, *dir, *crawl, show); err != nil {
		log.Fatal(err)
	}
}

// run recrawls a site of two pages: one changes with every visit, one never.
func run(ctx context.Context, dir, crawl string, onVisit func(url string, changed bool)) error {
	var visits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/news" {
			fmt.Fprintln(w, visits.Add(1))
			return
		}
		fmt.Fprintln(w, "about us")
	}))
	defer server.Close()

	s, err := openStore(dir)
	if err != nil {
		return err
	}
	f, err := frontier.New(s, frontier.Options{
		Crawl: crawl, Delay: 10 * time.Millisecond, RecrawlSoonest: 50 * time.Millisecond, RecrawlLatest: time.Minute,
	})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	_, err = f.AddBatch(ctx, []frontier.Link{{URL: server.URL + "/news"}, {URL: server.URL + "/about"}})
	if err == nil {
		r := &recrawler{f: f, fetch: get, onVisit: onVisit}
		err = r.loop(ctx)
	}
	return errors.Join(err, f.Close(), s.Close())
}

// openStore opens the store in a directory, or one in memory if there is no directory.
func openStore(dir string) (store.Store, error) {
	if dir == "" {
		return memstore.New(memstore.Options{}), nil
	}
	return pebblestore.Open(dir, pebblestore.Options{})
}

func show(url string, changed bool) {
	fmt.Printf("%s %s changed: %v\n", time.Now().Format(time.TimeOnly), url, changed)
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}
