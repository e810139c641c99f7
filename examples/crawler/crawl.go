package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/html"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

const maxPage = 4 << 20 // bytes of a page that are read

// crawler is what all fetchers share. A client of a daemon (frontier/client) serves as well as a frontier in the process.
type crawler struct {
	f      frontier.Interface
	first  *frontier.PagesFirst
	client *http.Client
	agent  string
	delay  time.Duration
	robots *robots
	pass   string
	out    *log.Logger // safe for concurrent use

	pages, failed, disallowed atomic.Int64 // of this run
}

func newCrawler(f frontier.Interface, first *frontier.PagesFirst, o options, out *log.Logger) *crawler {
	jar, _ := cookiejar.New(nil) // there is no error
	client := &http.Client{
		Jar:     jar,         // some pages set a cookie and redirect to themselves
		Timeout: o.lease / 2, // a page whose lease ended would be fetched by another fetcher as well
		// The frontier decides about redirects: the target may be known, or be the same page.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &crawler{f: sameHost{f}, first: first, client: client, agent: o.agent, delay: o.delay, robots: newRobots(o.agent), pass: o.pass, out: out}
}

// sameHost follows no redirect to another host, except from a seed. It stands before Redirect because that has the targets of all
// redirects, also of those whose Location net/http can't parse: the client returns these as errors.
type sameHost struct{ frontier.Interface }

func (s sameHost) Redirect(ctx context.Context, l *frontier.Lease, target string) (frontier.Redirection, error) {
	base, err := canon.ParseBase(l.URL)
	if err == nil && l.Depth > 0 && hostOf(base.Resolve(target)) != hostOf(l.URL) {
		return frontier.Redirection{}, s.Done(ctx, l)
	}
	return s.Interface.Redirect(ctx, l, target)
}

// seed offers the seeds. In a pass that is continued they are duplicates.
func (c *crawler) seed(ctx context.Context, seeds []string) error {
	links := make([]frontier.Link, len(seeds))
	for i, url := range seeds {
		links[i].URL = url
	}
	results, err := c.f.AddBatch(ctx, links)
	for i, r := range results {
		if r.Status == frontier.StatusRefused {
			c.out.Printf("refused %s: %s", seeds[i], r.Reason)
		}
	}
	return err
}

// crawl runs the fetchers until nothing is left, until ctx ends, or until one of them fails.
func (c *crawler) crawl(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			if errs[i] = c.work(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// work takes one page after the other. The loop ends when nothing is queued or leased any more, also by other fetchers.
func (c *crawler) work(ctx context.Context) error {
	for lease, err := range c.f.Leases(ctx) {
		for lease != nil && err == nil { // once more for each redirect to the same page
			lease, err = c.visit(ctx, lease)
		}
		if errors.Is(err, context.Canceled) {
			return nil // the next run goes on
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visit fetches a page, offers its links and settles its lease, each also if ctx ends meanwhile.
func (c *crawler) visit(ctx context.Context, lease *frontier.Lease) (follow *frontier.Lease, err error) {
	settle := context.WithoutCancel(ctx)
	rules, err := c.robots.of(ctx, c.client, lease.URL)
	if err != nil { // a site whose robots.txt fails is not to be fetched now, and ftp never
		_, follow, err = c.settle(ctx, lease, nil, err)
		return follow, err
	}
	if !rules.allows(lease.URL) {
		c.disallowed.Add(1)
		return nil, ignoreStale(c.f.Drop(settle, lease))
	}
	if delay := rules.news(); delay > c.delay {
		if err := c.f.Configure(settle, "", lease.Queue, store.QueueChange{Delay: &delay}); err != nil {
			return nil, err
		}
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, lease.URL, http.NoBody)
	if err != nil {
		_, follow, err = c.settle(ctx, lease, nil, err)
		return follow, err
	}
	req.Header.Set("User-Agent", c.agent)
	resp, err := c.client.Do(req)
	page, follow, err := c.settle(ctx, lease, resp, err)
	if !page {
		return follow, err
	}
	links, err := linksOf(resp)
	if err != nil { // half a page: as if there had been no response
		_, _, err = c.settle(ctx, lease, nil, err)
		return nil, err
	}
	// Links first: if the process dies in between, the page is fetched again, and its links are duplicates.
	results, err := c.f.AddBatch(settle, frontier.Links(lease, links...))
	if err != nil {
		return nil, err
	}
	c.first.Fetched(lease.URL, results)
	c.pages.Add(1)
	c.out.Println("fetched", lease.URL)
	return nil, ignoreStale(c.f.Done(settle, lease))
}

// settle settles a lease whose fetch brought no page, and counts the fetch if it failed.
func (c *crawler) settle(ctx context.Context, lease *frontier.Lease, resp *http.Response, err error) (page bool, follow *frontier.Lease, _ error) {
	page, follow, err = frontier.SettleResponse(ctx, c.f, lease, resp, err)
	if resp == nil && follow == nil && ctx.Err() == nil || resp != nil && resp.StatusCode >= 400 {
		c.failed.Add(1)
	}
	return page, follow, err
}

// ignoreStale drops the error of a lease that is over: it took too long, and another fetcher has the page.
func ignoreStale(err error) error {
	if errors.Is(err, frontier.ErrStale) {
		return nil
	}
	return err
}

func hostOf(raw string) string {
	form, _ := canon.WHATWG().Canonicalize(raw) // as browsers read it, which package net/url does not
	u := url.URL{Host: string(canon.Host([]byte(form)))}
	return u.Hostname()
}

// linksOf reads a page and closes it, and returns its links to the same host.
func linksOf(resp *http.Response) (links []string, err error) {
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return nil, nil
	}
	page := resp.Request.URL.String()
	base, err := canon.ParseBase(page)
	if err != nil {
		return nil, err
	}
	tokens := html.NewTokenizer(io.LimitReader(resp.Body, maxPage))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return links, nil
		case html.StartTagToken, html.SelfClosingTagToken:
			t := tokens.Token()
			if t.Data != "a" && t.Data != "base" {
				continue
			}
			for _, a := range t.Attr {
				link := base.Resolve(a.Val)
				switch {
				case a.Key != "href":
				case t.Data == "a" && hostOf(link) == hostOf(page):
					links = append(links, link)
				case t.Data == "base":
					if b, err := canon.ParseBase(link); err == nil {
						base = b
					}
				}
			}
		}
	}
}

// report says why the pass ended.
func (c *crawler) report(ctx context.Context, limited bool) error {
	left, err := c.f.Stats(ctx, "")
	if err != nil {
		return err
	}
	c.out.Printf("%d pages, %d failures, %d disallowed by robots.txt", c.pages.Load(), c.failed.Load(), c.disallowed.Load())
	if limited {
		c.out.Printf("pass %s has reached its limit: %d URLs wait", c.pass, left.Held)
		return nil
	}
	if left.Held > 0 {
		c.out.Printf("pass %s was interrupted: %d URLs wait; run it again to go on", c.pass, left.Held)
		return nil
	}
	c.out.Printf("pass %s is finished: %d URLs seen", c.pass, left.Seen)
	return nil
}
