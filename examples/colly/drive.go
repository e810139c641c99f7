package main

import (
	"context"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
)

// Drive crawls until the frontier holds nothing: colly fetches and parses, the
// frontier says what and when. One Drive
// fetches one page at a time; run several, each with a c.Clone().
func Drive(ctx context.Context, c *colly.Collector, f *frontier.Frontier) error {
	d := &driver{}
	c.AllowURLRevisit = true // the frontier decides
	followNew(ctx, c, f)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if link := e.Request.AbsoluteURL(e.Attr("href")); link != "" {
			d.links = append(d.links, link)
		}
	})
	for lease, err := range f.Leases(ctx) {
		if err != nil {
			return err
		}
		if err := d.visit(ctx, c, f, lease); err != nil {
			return err
		}
	}
	return nil
}

// driver gathers the links of the page that is being fetched.
type driver struct{ links []string }

func (d *driver) visit(ctx context.Context, c *colly.Collector, f *frontier.Frontier, lease *frontier.Lease) error {
	d.links = nil
	if err := c.Visit(lease.URL); err != nil {
		_, err := f.Retry(ctx, lease, time.Time{})
		return err
	}
	if _, err := f.AddBatch(ctx, frontier.Links(lease, d.links...)); err != nil {
		return err
	}
	return f.Done(ctx, lease)
}
