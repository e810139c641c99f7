package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/frontier"
)

// recrawler fetches pages again and again, the more often the more often they change: the frontier's Options.RecrawlLatest sees to that.
type recrawler struct {
	f       *frontier.Frontier
	fetch   func(ctx context.Context, url string) ([]byte, error)
	onVisit func(url string, changed bool)
}

// loop visits pages until the context ends. It never ends by itself: a page
// that is to be visited again is held.
func (r *recrawler) loop(ctx context.Context) error {
	for {
		lease, err := r.f.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.visit(ctx, lease); err != nil {
			return err
		}
	}
}

func (r *recrawler) visit(ctx context.Context, lease *frontier.Lease) error {
	settle := context.WithoutCancel(ctx)
	body, err := r.fetch(ctx, lease.URL)
	if err != nil {
		_, err := r.f.Retry(settle, lease, time.Time{})
		return err
	}
	h := fnv.New64a()
	h.Write(body)
	digest, status := h.Sum(nil), http.StatusOK
	if bytes.Equal(digest, lease.Meta) { // that of the last visit: the frontier keeps it with the URL, so the crawler needs no table of its own
		status = http.StatusNotModified
	}
	r.onVisit(lease.URL, len(lease.Meta) > 0 && status == http.StatusOK)
	answers, err := r.f.Settle(settle, []frontier.Settlement{{
		Lease:   lease,
		Outcome: frontier.Recrawl,
		Meta:    digest,
		Fetched: &frontier.Fetched{Status: status},
	}})
	if err == nil && answers[0] == frontier.Stale {
		err = fmt.Errorf("cannot schedule %s: %w", lease.URL, frontier.ErrStale)
	}
	return err
}
