// Command colly follows each link of a site with colly, as its README does it.
package main

import (
	"log"
	"net/url"
	"os"
	"strconv"

	"github.com/gocolly/colly/v2"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: colly SEED LIMIT")
	}
	seed, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	limit, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	c := colly.NewCollector(colly.AllowedDomains(seed.Hostname()))
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		_ = e.Request.Visit(e.Attr("href")) // what it doesn't visit, it has seen, or must not
	})
	c.OnRequest(func(r *colly.Request) {
		if limit--; limit < 0 {
			r.Abort()
		}
	})
	if err := c.Visit(seed.String()); err != nil {
		log.Fatal(err)
	}
}
