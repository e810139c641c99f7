package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
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

// openFrontier opens a frontier in the process, or one behind a daemon.
func openFrontier(ctx context.Context, dir, daemon, crawl string) (frontier.Interface, error) {
	if daemon != "" {
		return client.Open(ctx, client.Options{Addr: daemon, Crawl: crawl})
	}
	return frontier.Open(frontier.Options{Dir: dir, Crawl: crawl})
}

// run crawls the host of a URL, and goes on with what else is left of the crawl.
func run(ctx context.Context, dir, daemon, crawl, seed string) error {
	f, err := openFrontier(ctx, dir, daemon, crawl)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Add(ctx, seed); err != nil {
		return err
	}
	c := colly.NewCollector()
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.StatusCode, r.Request.URL) })
	return Drive(ctx, c, f)
}
