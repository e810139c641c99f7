package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	dir := flag.String("db", "", "directory of the frontier; in memory when empty")
	daemon := flag.String("daemon", "", "host:port of a firstseen serve to use instead")
	crawl := flag.String("crawl", "", "crawl to work on; others in the same store are left alone")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: colly [-db DIR | -daemon ADDR] [-crawl NAME] URL")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *daemon, *crawl, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// openFrontier opens a frontier in the process, or one behind a daemon, and returns
// what closes it.
func openFrontier(ctx context.Context, dir, daemon, crawl string) (f frontier.Interface, closeAll func() error, err error) {
	if daemon != "" {
		if f, err = client.Open(ctx, client.Options{Addr: daemon, Crawl: crawl}); err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	return openOn(dir, frontier.Options{Crawl: crawl})
}

// openOn opens a frontier on the store in a directory, or on one in memory if there is
// no directory.
func openOn(dir string, opt frontier.Options) (_ frontier.Interface, closeAll func() error, err error) {
	var s store.Store = memstore.New(memstore.Options{})
	if dir != "" {
		if s, err = pebblestore.Open(dir, pebblestore.Options{}); err != nil {
			return nil, nil, err
		}
	}
	f, err := frontier.New(s, opt)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return f, func() error { return errors.Join(f.Close(), s.Close()) }, nil
}

// run crawls the host of a URL, and continues the rest of the crawl.
func run(ctx context.Context, dir, daemon, crawl, seed string) (err error) {
	f, closeAll, err := openFrontier(ctx, dir, daemon, crawl)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if _, err := f.Add(ctx, seed); err != nil {
		return err
	}
	c := colly.NewCollector()
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.StatusCode, r.Request.URL) })
	if err := Drive(ctx, c, f); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	left, err := f.Stats(context.WithoutCancel(ctx), "")
	if err != nil {
		return err
	}
	if left.Held > 0 {
		fmt.Printf("interrupted: %d URLs wait; run it again to go on\n", left.Held)
	} else {
		fmt.Println("finished: nothing is left to fetch")
	}
	return nil
}
