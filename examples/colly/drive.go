package main

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
)

// Drive crawls until nothing is queued or leased in the frontier's crawl: colly fetches and parses,
// the frontier decides what to fetch and when. One Drive fetches one page at a time; run several,
// each with a c.Clone().
//
// Links to the host of the page are followed, and a seed's redirect to another host.
// So nothing is queued that a filter of the collector would refuse later: it would
// be seen, and no other crawler of the crawl would ever fetch it.
func Drive(ctx context.Context, c *colly.Collector, f frontier.Interface) error {
	d := &driver{c: c, f: f}
	c.AllowURLRevisit = true // the frontier decides
	c.SetRedirectHandler(d.redirected)
	c.OnResponse(func(r *colly.Response) { d.fetched = fetchedOf(r) })
	c.OnError(func(r *colly.Response, _ error) { d.failed, d.fetched = r, fetchedOf(r) })
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if link := e.Request.AbsoluteURL(e.Attr("href")); hostOf(link) == e.Request.URL.Hostname() {
			d.links = append(d.links, link)
		}
	})
	for lease, err := range f.Leases(ctx) {
		if err != nil {
			return err
		}
		if err := d.visit(ctx, lease); err != nil {
			return err
		}
	}
	return nil
}

// hostOf returns the host of a URL, or "" if link is not a URL.
func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// driver is about the page that is being fetched.
type driver struct {
	c      *colly.Collector
	f      frontier.Interface
	links  []string
	target string          // where a redirect leads
	failed *colly.Response // the response, if it was not a page

	fetched *frontier.Fetched // what the fetch returned
}

func (d *driver) redirected(to *http.Request, _ []*http.Request) error {
	d.target = to.URL.String()
	return http.ErrUseLastResponse
}

// visit fetches a page and reports the result. The frontier decides on redirects: a redirect to a
// variant of the same page is followed under the same lease.
func (d *driver) visit(ctx context.Context, lease *frontier.Lease) error {
	for lease != nil {
		d.links, d.target, d.failed, d.fetched = nil, "", nil, nil
		err := d.c.Visit(lease.URL)
		if d.target == "" || lease.Depth > 0 && hostOf(d.target) != hostOf(lease.URL) {
			return d.settle(ctx, lease, err)
		}
		r, err := d.f.Redirect(ctx, lease, d.target)
		if err != nil {
			return err
		}
		lease = r.Follow
	}
	return nil
}

func (d *driver) settle(ctx context.Context, lease *frontier.Lease, failure error) error {
	s := frontier.Settlement{Lease: lease, Outcome: frontier.Done}
	if failure != nil {
		s = settlementOf(lease, d.failed, failure)
	}
	s.Fetched = d.fetched
	if _, err := d.f.AddBatch(ctx, frontier.Links(lease, d.links...)); err != nil {
		return err
	}
	_, err := d.f.Settle(ctx, []frontier.Settlement{s})
	return err
}
