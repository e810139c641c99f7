package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/firstseen/firstseen/frontier"
)

// crawler is what a crawler needs beside a frontier: little.
type crawler struct {
	frontier *frontier.Frontier
	client   *http.Client
	links    int
	count    map[frontier.Status]int
}

// crawl fetches everything that can be reached from the seed.
func (c *crawler) crawl(ctx context.Context, seed string) error {
	// The frontier wants to know of redirects, so the client must not follow them.
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.count = make(map[frontier.Status]int)
	if _, err := c.frontier.Add(ctx, seed); err != nil {
		return err
	}
	for lease, err := range c.frontier.Leases(ctx) {
		if err != nil {
			return err
		}
		if err := c.visit(ctx, lease); err != nil {
			return err
		}
	}
	return nil
}

// visit fetches one page, offers its links and settles its lease.
func (c *crawler) visit(ctx context.Context, lease *frontier.Lease) error {
	links, redirect, err := c.fetch(ctx, lease.URL)
	switch {
	case err != nil:
		_, err := c.frontier.Retry(ctx, lease, time.Time{})
		return err
	case redirect != "":
		r, err := c.frontier.Redirect(ctx, lease, redirect)
		if err != nil || r.Follow == nil {
			return err
		}
		return c.visit(ctx, r.Follow) // the same page under another spelling
	}
	results, err := c.frontier.AddBatch(ctx, frontier.Links(lease, links...))
	if err != nil {
		return err
	}
	for _, r := range results {
		c.links++
		c.count[r.Status]++
	}
	return c.frontier.Done(ctx, lease)
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// fetch gets a page and returns its links, absolute, or where it redirects to.
func (c *crawler) fetch(ctx context.Context, page string) (links []string, redirect string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if location, err := resp.Location(); err == nil {
		return nil, location.String(), nil
	}
	if resp.StatusCode >= 500 {
		return nil, "", fmt.Errorf("cannot fetch %s; got status %s", page, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, "", err
	}
	for _, m := range href.FindAllSubmatch(body, -1) {
		if u, err := resp.Request.URL.Parse(html.UnescapeString(string(m[1]))); err == nil {
			links = append(links, absolute(u, html.UnescapeString(string(m[1]))))
		}
	}
	return links, "", nil
}

// absolute prefers the text of a link that is absolute already: net/url would
// rewrite it, and the frontier wants URLs as found.
func absolute(resolved *url.URL, text string) string {
	if u, err := url.Parse(text); err == nil && u.IsAbs() {
		return text
	}
	return resolved.String()
}
