package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

const (
	// asksAtOnce and bytesAtOnce bound what travels in one request.
	asksAtOnce  = 1024
	bytesAtOnce = 512 << 10
)

// ask is one URL to offer or one lease to settle: a line on the wire, and the
// daemon's answer. While it is in flight it belongs to the goroutine that sends it, then to the caller.
type ask struct {
	line     []byte
	brief    bool // the key and the verdict are enough
	sent     bool // a sending went unanswered
	answered bool
	verdict  wire.VerdictLine
	settled  string
}

// part is the asks of one call, which travel together.
type part struct {
	asks []ask
	err  error
	done chan struct{} // closed when all are answered, or err is set
	gone atomic.Bool   // its caller no longer waits
}

// batcher lets calls share requests. While all requests it may have are under
// way, calls gather, and the next request takes what has gathered: nothing
// waits for company, and the busier the daemon the fuller the requests.
type batcher struct {
	c    *Client
	what string
	// send makes one request of asks and fills in the answers. Sent reports whether the daemon may have begun with it.
	send func(context.Context, []*ask) (sent bool, err error)

	mu      sync.Mutex
	pending []*part // guarded by mu
	lanes   int     // guarded by mu; goroutines that send
}

// call sends asks and waits for their answers. If ctx ends first, asks that are not in flight are not
// sent; those in flight belong to the sender.
func (b *batcher) call(ctx context.Context, asks []ask) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &part{asks: asks, done: make(chan struct{})}
	b.mu.Lock()
	b.pending = append(b.pending, p)
	if b.lanes < b.c.opt.requests {
		b.lanes++
		b.c.working.Go(b.run)
	}
	b.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.gone.Store(true)
		return ctx.Err()
	}
}

// run sends pending asks until there are none.
func (b *batcher) run() {
	for parts := b.take(); len(parts) > 0; parts = b.take() {
		b.deliver(parts)
	}
}

// take takes what fits into a request, at least one part. With none, the
// goroutine that asks must end.
func (b *batcher) take() []*part {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, asks, size := 0, 0, 0
	for _, p := range b.pending {
		for i := range p.asks {
			size += len(p.asks[i].line)
		}
		if asks += len(p.asks); n > 0 && (asks > asksAtOnce || size > bytesAtOnce) {
			break
		}
		n++
	}
	parts := b.pending[:n:n]
	if b.pending = b.pending[n:]; n == 0 {
		b.lanes--
		b.pending = nil
	}
	return parts
}

// deliver sends parts until all are answered. A call returns as soon as its own asks are answered: it does not wait
// while others are sent again. When the daemon refuses a request of several permanently, each goes alone, so that no call
// pays for another's fault.
func (b *batcher) deliver(parts []*part) {
	err := b.c.persist(context.Background(), b.what, func(ctx context.Context) error {
		asks := unanswered(parts)
		if len(asks) == 0 {
			return nil
		}
		sent, err := b.send(ctx, asks)
		for _, a := range asks {
			a.sent = a.sent || sent && !a.answered
		}
		if parts = release(parts); len(parts) == 0 {
			return nil
		}
		return err
	})
	if err != nil && !isTemporary(err) && len(parts) > 1 {
		for _, p := range parts {
			b.deliver([]*part{p})
		}
		return
	}
	for _, p := range release(parts) {
		p.err = err
		close(p.done)
	}
}

// release ends the calls whose asks are answered, or whose callers are gone, and returns the other parts.
func release(parts []*part) (left []*part) {
	for _, p := range parts {
		if len(unanswered([]*part{p})) > 0 {
			left = append(left, p)
		} else {
			close(p.done)
		}
	}
	return left
}

// unanswered returns the asks to be sent for callers that still wait.
func unanswered(parts []*part) []*ask {
	var asks []*ask
	for _, p := range parts {
		if p.gone.Load() {
			continue
		}
		for i := range p.asks {
			if !p.asks[i].answered {
				asks = append(asks, &p.asks[i])
			}
		}
	}
	return asks
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
		if err := urls[i].Check(); err != nil {
			return nil, err
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
func (c *Client) sendLines(path string) func(context.Context, []*ask) (bool, error) {
	return func(ctx context.Context, asks []*ask) (sent bool, err error) {
		path := path
		if !slices.ContainsFunc(asks, func(a *ask) bool { return !a.brief }) {
			path += "?brief"
		}
		var body []byte
		for _, a := range asks {
			body = append(body, a.line...)
		}
		return c.try(ctx, &request{method: http.MethodPost, path: path, body: body, read: func(r io.Reader) error { return readVerdicts(r, asks) }})
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
