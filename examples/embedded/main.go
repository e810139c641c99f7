// Command embedded is a small but complete crawler. It crawls a site that it serves itself on
// loopback, where each page is linked under four variants of its URL, and fetches each page once.
//
//	go run ./examples/embedded [-db DIR]
//
// With -db the frontier is on disk: stop the program at any time and start it again, and it
// continues.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/declared"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	dir := flag.String("db", "", "directory of the frontier; in memory when empty")
	crawl := flag.String("crawl", "", "crawl to work on; others in the same directory are left alone")
	pages := flag.Int("pages", 9, "pages of the site, at most 10")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *crawl, *pages); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir, crawl string, pages int) error {
	web := newSite(pages)
	server := httptest.NewServer(web)
	defer server.Close()

	s, err := openStore(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	var unlisted declared.Unlisted // histories, forms and logs: they are most of a wiki
	var first frontier.PagesFirst  // and lists, behind what they list
	f, err := frontier.New(s, frontier.Options{
		Crawl:   crawl,
		Delay:   -1, // it is our own server; leave this away for others'
		Exclude: unlisted.Exclude,
		Rank:    first.Rank,
	})
	if err != nil {
		return err
	}
	defer f.Close()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &crawler{frontier: f, unlisted: &unlisted, first: &first, client: client, count: map[frontier.Status]int{}}
	if err := c.crawl(ctx, server.URL+"/"); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	left, err := f.Stats(context.WithoutCancel(ctx), "")
	if err != nil {
		return err
	}
	served, repeated := web.counts()
	links := c.count[frontier.StatusNew] + c.count[frontier.StatusDuplicate] + c.count[frontier.StatusRefused]
	fmt.Printf("%d links: %d new, %d duplicate, %d refused\n", links, c.count[frontier.StatusNew], c.count[frontier.StatusDuplicate], c.count[frontier.StatusRefused])
	fmt.Printf("%d pages served, %d of them more than once\n", served, repeated)
	if left.Held > 0 {
		fmt.Printf("interrupted: %d URLs wait; with -db the next run goes on\n", left.Held)
	} else {
		fmt.Println("finished: nothing is left to fetch")
	}
	return nil
}

// openStore opens the store in a directory, or one in memory if there is no directory.
func openStore(dir string) (store.Store, error) {
	if dir == "" {
		return memstore.New(memstore.Options{}), nil
	}
	return pebblestore.Open(dir, pebblestore.Options{})
}
