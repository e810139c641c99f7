package main

import (
	"context"
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
)

// Once makes a collector fetch each page once, as f knows pages, whatever its
// spelling and however many goroutines find it. Make the collector with
// colly.AllowURLRevisit(), since colly's own check is the one with the race.
//
// A redirect's target doesn't pass OnRequest, so it is asked about here: it is
// followed if it is new, or if it is the page itself under another spelling.
func Once(ctx context.Context, c *colly.Collector, f frontier.Interface) {
	c.OnRequest(func(r *colly.Request) {
		if !isNew(ctx, f, r.URL.String()) {
			r.Abort()
		}
	})
	c.SetRedirectHandler(func(to *http.Request, via []*http.Request) error {
		if len(via) >= 10 || !isNew(ctx, f, via[len(via)-1].URL.String(), to.URL.String()) {
			return http.ErrUseLastResponse
		}
		return nil
	})
}

// isNew is the whole duplicate filter: it reports whether the last of these URLs is new, or is the
// same page as the one before. On an error it returns false: the page is left for another time, not
// fetched twice.
func isNew(ctx context.Context, f frontier.Interface, urls ...string) bool {
	asked := make([]frontier.Link, len(urls))
	for i, u := range urls {
		asked[i].URL = u
	}
	results, err := f.See(ctx, asked)
	if err != nil {
		return false
	}
	last := results[len(results)-1]
	return last.Status == frontier.StatusNew || len(results) > 1 && last.Key == results[0].Key
}
