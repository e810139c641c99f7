// Command crawler is a polite crawler to copy and change. It has many fetchers, obeys robots.txt, Crawl-delay and
// Retry-After, follows redirects, retries failures, and makes one pass a day over the sites of its seeds.
//
//	go run . [-db DIR] [-workers N] [-pass NAME] SEED...
//
// A pass ends when nothing is left to fetch. If it is interrupted or killed, the next run continues it. Each pass is a crawl
// of its own in the frontier, so the next day's begins with nothing seen; run it from cron.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

type options struct {
	dir     string
	pass    string
	agent   string
	workers int
	delay   time.Duration
	lease   time.Duration
	depth   int
}

func main() {
	var o options
	flag.StringVar(&o.dir, "db", "crawl.db", "directory of the frontier")
	flag.StringVar(&o.pass, "pass", time.Now().Format(time.DateOnly), "name of the pass; a new name fetches everything again")
	flag.StringVar(&o.agent, "agent", "firstseen-example", "user agent, also for robots.txt")
	flag.IntVar(&o.workers, "workers", 16, "fetchers; each host is asked by one at a time")
	flag.DurationVar(&o.delay, "delay", time.Second, "least time between two pages of a host")
	flag.DurationVar(&o.lease, "lease", time.Minute, "how long a page may take")
	flag.IntVar(&o.depth, "depth", 20, "how many links away from a seed a page may be, so that a calendar without end has one; 0 for any number")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: crawler [flags] SEED...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args(), log.New(os.Stdout, "", 0)); err != nil {
		log.Fatal(err)
	}
}

// run makes a pass, or continues it, and reports why it ended.
func run(ctx context.Context, o options, seeds []string, out *log.Logger) (err error) {
	// Nobody else can have the store open, so leases of a run that was killed are free now.
	s, err := pebblestore.Open(o.dir, pebblestore.Options{FreeLeases: true})
	if err != nil {
		return err
	}
	// Close also after an error: what was acknowledged is safe in any case.
	defer func() { err = errors.Join(err, s.Close()) }()
	first := new(frontier.PagesFirst)
	f, err := frontier.New(s, frontier.Options{
		Crawl:    o.pass,
		Delay:    o.delay,
		Lease:    o.lease,
		MaxDepth: o.depth,
		Rank:     first.Rank, // pages come before lists, forms and histories
		OnWait: func(why frontier.Idle) {
			if time.Until(why.Next) > 10*time.Second || why.State == store.Paused { // else it is the usual delay
				out.Println(why)
			}
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	before, err := f.Stats(ctx, "")
	if err != nil {
		return err
	}
	if before.Held > 0 {
		out.Printf("continuing pass %s: %d URLs wait", o.pass, before.Held)
	}
	c := newCrawler(f, first, o, out)
	if err := c.seed(ctx, seeds); err != nil {
		return err
	}
	err = c.crawl(ctx, o.workers)
	if err != nil && !errors.Is(err, frontier.ErrLimited) {
		return err
	}
	return c.report(context.WithoutCancel(ctx), err != nil)
}
