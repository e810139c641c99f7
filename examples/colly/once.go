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
func Once(ctx context.Context, c *colly.Collector, f *frontier.Frontier) {
	c.OnRequest(func(r *colly.Request) {
		if !isNew(ctx, f, r.URL.String()) {
			r.Abort()
		}
	})
	followNew(ctx, c, f)
}

// followNew makes a collector follow redirects to new pages, and to other
// spellings of the page itself.
func followNew(ctx context.Context, c *colly.Collector, f *frontier.Frontier) {
	c.SetRedirectHandler(func(req *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return http.ErrUseLastResponse
		}
		from := f.Identify(frontier.URL{URL: via[len(via)-1].URL.String()})
		to := f.Identify(frontier.URL{URL: req.URL.String()})
		if from.Key != to.Key && !isNew(ctx, f, req.URL.String()) {
			return http.ErrUseLastResponse
		}
		return nil
	})
}

// isNew is the whole of the duplicate filter. An error means that nobody knows:
// the page is left for another time rather than fetched twice.
func isNew(ctx context.Context, f *frontier.Frontier, url string) bool {
	results, err := f.See(ctx, []frontier.URL{{URL: url}})
	return err == nil && results[0].Status == frontier.New
}
