package main

import (
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"regexp"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/declared"
)

// crawler is a whole polite crawler: it fetches each page once, each host no faster than
// the frontier allows, obeys Retry-After, retries failures and follows redirects. With a store on
// disk it continues after any end, including kill -9.
type crawler struct {
	frontier frontier.Interface
	unlisted *declared.Unlisted
	first    *frontier.PagesFirst
	client   *http.Client // it does not follow redirects by itself
	count    map[frontier.Status]int
}

// crawl fetches everything that can be reached from the seed.
func (c *crawler) crawl(ctx context.Context, seed string) error {
	if _, err := c.frontier.Add(ctx, seed); err != nil {
		return err
	}
	for lease, err := range c.frontier.Leases(ctx) {
		for lease != nil && err == nil { // until there is no redirect to follow
			lease, err = c.visit(ctx, lease)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visit fetches a page, offers its links and settles its lease.
func (c *crawler) visit(ctx context.Context, lease *frontier.Lease) (follow *frontier.Lease, err error) {
	resp, err := c.client.Get(lease.URL)
	page, follow, err := frontier.SettleResponse(ctx, c.frontier, lease, resp, err)
	if !page {
		return follow, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil { // as if there had been no response
		_, _, err = frontier.SettleResponse(ctx, c.frontier, lease, nil, err)
		return nil, err
	}
	c.unlisted.Fetched(lease.URL, declared.Of(lease.URL, resp.Header, body))
	var links []string
	for _, m := range href.FindAllSubmatch(body, -1) {
		links = append(links, html.UnescapeString(string(m[1])))
	}
	settle := context.WithoutCancel(ctx) // the page is here: keep it although the crawl is to end
	results, err := c.frontier.AddBatch(settle, frontier.Links(lease, links...))
	if err != nil {
		return nil, err // the lease runs out, and the page is fetched again
	}
	c.first.Fetched(lease.URL, results)
	for _, r := range results {
		c.count[r.Status]++
	}
	if err := c.frontier.Done(settle, lease); !errors.Is(err, frontier.ErrStale) {
		return nil, err
	}
	return nil, nil // it took longer than its lease, and another fetcher has the page
}

var href = regexp.MustCompile(`href="([^"]*)"`)
