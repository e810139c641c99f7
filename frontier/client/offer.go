package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// Add offers one URL of [Options.Crawl]. It is AddBatch for one.
func (c *Client) Add(ctx context.Context, url string) (frontier.Result, error) {
	results, err := c.AddBatch(ctx, []frontier.Link{{URL: url}})
	if err != nil {
		return frontier.Result{}, err
	}
	return results[0], nil
}

// AddBatch offers URLs and returns a result for each, in order, once new ones
// are queued durably. It travels in parts of at most 1024 URLs, one after the
// other; after an error some may be stored, and adding all of them again is safe.
func (c *Client) AddBatch(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return c.offer(ctx, &c.offers, urls)
}

// See records URLs as seen without queueing them, and answers as AddBatch does.
// If an answer was lost, no caller may have got New for a Duplicate with Resent: see the
// package comment.
func (c *Client) See(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return c.offer(ctx, &c.seen, urls)
}

func (c *Client) offer(ctx context.Context, b *batcher, urls []frontier.Link) ([]frontier.Result, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	for i := range urls {
		if p := urls[i].Priority; p > store.MaxPriority {
			return nil, fault.As(store.ErrInvalid, "cannot offer %q: got priority %d; want 0 to %d", urls[i].URL, p, store.MaxPriority)
		}
	}
	results := make([]frontier.Result, len(urls))
	for from := 0; from < len(urls); {
		asks, places, to := c.askFor(urls, from, results)
		from = to
		if len(asks) == 0 {
			continue
		}
		if err := b.call(ctx, asks); err != nil {
			return nil, err
		}
		for i, place := range places {
			var err error
			if results[place], err = resultOf(&asks[i].verdict, asks[i].sent); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// askFor makes asks of the URLs from a place on that fit into a request, and
// refuses those that cannot be sent. It returns the place of each ask, and the place to continue
// from.
func (c *Client) askFor(urls []frontier.Link, from int, results []frontier.Result) (asks []ask, places []int, to int) {
	n := min(len(urls)-from, asksAtOnce)
	asks, places = make([]ask, 0, n), make([]int, 0, n)
	buf := make([]byte, 0, 128*n)
	to = from
	for ; len(asks) < n && to < len(urls) && len(buf) < bytesAtOnce; to++ {
		start := len(buf)
		var err error
		if buf, err = appendURL(buf, &urls[to], c.opt.named(urls[to].Crawl)); err != nil {
			results[to] = frontier.Result{Status: frontier.StatusRefused, Reason: frontier.ReasonURL, Err: err}
			continue
		}
		asks = append(asks, ask{line: buf[start:len(buf):len(buf)], brief: urls[to].SkipFirst})
		places = append(places, to)
	}
	return asks, places, to
}

// sendLines returns what sends a request of lines, each of which is answered by
// a line in order.
func (c *Client) sendLines(path string) func(context.Context, []*ask) error {
	return func(ctx context.Context, asks []*ask) error {
		path := path
		if !slices.ContainsFunc(asks, func(a *ask) bool { return !a.brief }) {
			path += "?brief"
		}
		var body []byte
		for _, a := range asks {
			body = append(body, a.line...)
		}
		r := &request{method: http.MethodPost, path: path, body: body, read: func(r io.Reader) error { return readVerdicts(r, asks) }}
		sent, err := c.try(ctx, r)
		if sent {
			markSent(asks)
		}
		return err
	}
}

// readVerdicts reads the answers to asks as far as there are any. One that
// could not be stored is left unanswered, so that it is sent again.
func readVerdicts(body io.Reader, asks []*ask) error {
	lines, failed := json.NewDecoder(body), 0
	for i, a := range asks {
		a.verdict = wire.VerdictLine{}
		if err := lines.Decode(&a.verdict); err != nil {
			if errors.Is(err, io.EOF) {
				err = errIncomplete
			}
			return fmt.Errorf("cannot read answer %d of %d: %w", i+1, len(asks), err)
		}
		if a.answered = a.verdict.Verdict != wire.Failed; !a.answered {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("cannot read the answers for %d URLs: %w", failed, errIncomplete)
	}
	return nil
}
