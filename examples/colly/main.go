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
)

func main() {
	dir := flag.String("db", "", "directory of the frontier; in memory when empty")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: colly [-db DIR] URL")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// run crawls the host of a URL, three links deep.
func run(ctx context.Context, dir, seed string) error {
	f, err := frontier.Open(frontier.Options{Dir: dir, MaxDepth: 3})
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := f.Add(ctx, seed)
	if err != nil {
		return err
	}
	c := colly.NewCollector(colly.AllowedDomains(r.Queue))
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.StatusCode, r.Request.URL) })
	return Drive(ctx, c, f)
}
