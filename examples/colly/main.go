package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

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
	name := flag.String("client", "", "name of this process: if it dies, `firstseen free --client` ends its leases in the daemon")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: colly [-db DIR | -daemon ADDR] [-crawl NAME] [-client NAME] URL")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *daemon, *crawl, *name, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// openFrontier opens a frontier in the process, or one behind a daemon, and returns
// what closes it.
func openFrontier(ctx context.Context, dir, daemon, crawl, name string) (f frontier.Interface, closeAll func() error, err error) {
	if daemon != "" {
		if f, err = client.Open(ctx, client.Options{Addr: daemon, Crawl: crawl, Name: name, OnWait: tell}); err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	return openOn(dir, frontier.Options{Crawl: crawl, OnWait: tell})
}

// tell logs why there is nothing to fetch, unless it is the usual delay of a host.
func tell(why frontier.Idle) {
	if why.State != store.Delayed || time.Until(why.Next) > silence {
		log.Print("the frontier is ", why)
	}
}

// openOn opens a frontier on the store in a directory, or on one in memory if there is
// no directory.
func openOn(dir string, opt frontier.Options) (_ frontier.Interface, closeAll func() error, err error) {
	var s store.Store = memstore.New(memstore.Options{})
	if dir != "" {
		// Nobody else can have the store open, so leases of a run that was killed are free now.
		if s, err = pebblestore.Open(dir, pebblestore.Options{FreeLeases: true}); err != nil {
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
func run(ctx context.Context, dir, daemon, crawl, name, seed string) (err error) {
	f, closeAll, err := openFrontier(ctx, dir, daemon, crawl, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if _, err := f.Add(ctx, seed); err != nil {
		return err
	}
	c := colly.NewCollector()
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.StatusCode, r.Request.URL) })
	driven := Drive(ctx, c, f)
	if driven != nil && !errors.Is(driven, context.Canceled) && !errors.Is(driven, frontier.ErrLimited) {
		return driven
	}
	s, err := f.Stats(context.WithoutCancel(ctx), "")
	if err != nil {
		return err
	}
	why := "finished"
	switch {
	case errors.Is(driven, frontier.ErrLimited):
		why = "limited"
	case s.Held > 0:
		why = "interrupted"
	}
	fmt.Printf("%s: %d pages fetched, %d URLs dropped as failed, %d wait\n", why, s.Fetched, s.Dropped, s.Held)
	return nil
}
