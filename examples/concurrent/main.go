// Command concurrent is a crawler with many fetchers. Each takes its own leases, all share one
// frontier, and no host is asked more often than its delay allows. If you interrupt it, it releases
// its leases; with -db the next run continues.
//
//	go run ./examples/concurrent [-db DIR] [-workers N]
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
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
	workers := flag.Int("workers", 16, "fetchers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *crawl, *workers); err != nil {
		log.Fatal(err)
	}
}

const delay = 50 * time.Millisecond

func run(ctx context.Context, dir, crawl string, workers int) error {
	w := newWeb(6, 5)
	defer w.server.Close()
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	f, err := frontier.New(s, frontier.Options{
		Crawl: crawl,
		Delay: delay,
	})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	c := &crawler{f: f, client: w.client()}
	_, err = f.Add(ctx, "http://host0.example/0")
	if err == nil {
		err = c.crawl(ctx, workers)
	}
	// Close also after an error: acknowledged URLs are safe.
	if err := errors.Join(err, f.Close(), s.Close()); err != nil {
		return err
	}
	pages, repeated := w.report()
	fmt.Printf("%d leased, %d done\n", c.leased.Load(), c.done.Load())
	fmt.Printf("%d pages served, %d of them more than once\n", pages, repeated)
	if closest := c.manners.closest(); closest < delay {
		fmt.Printf("two pages of one host were handed out within %v\n", closest)
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

type crawler struct {
	f       *frontier.Frontier
	client  *http.Client
	manners manners

	leased, done atomic.Int64
}

// crawl runs the fetchers until nothing is left, or until the context ends.
func (c *crawler) crawl(ctx context.Context, workers int) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { errs[i] = c.work(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *crawler) work(ctx context.Context) error {
	for lease, err := range c.f.Leases(ctx) {
		switch {
		case errors.Is(err, context.Canceled) || errors.Is(err, store.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		if err := c.visit(ctx, lease); err != nil {
			return err
		}
	}
	return nil
}

// visit fetches one page. It settles the lease even if the context has ended.
func (c *crawler) visit(ctx context.Context, lease *frontier.Lease) error {
	c.manners.note(lease)
	c.leased.Add(1)
	settle := context.WithoutCancel(ctx)
	links, err := c.fetch(ctx, lease.URL)
	if ctx.Err() != nil {
		return c.f.Release(settle, lease) // not fetched: the next run begins with it
	}
	if err != nil {
		_, err := c.f.Retry(settle, lease, time.Time{})
		return err
	}
	if _, err := c.f.AddBatch(settle, frontier.Links(lease, links...)); err != nil {
		return err
	}
	if err := c.f.Done(settle, lease); err != nil {
		return err
	}
	c.done.Add(1)
	return nil
}

// fetch returns the links of a page, which are its lines.
func (c *crawler) fetch(ctx context.Context, url string) (links []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		links = append(links, lines.Text())
	}
	return links, lines.Err() // half a page is none: it is fetched again
}
