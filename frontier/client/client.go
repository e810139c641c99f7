package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Client is a frontier behind a daemon. All methods are safe for concurrent
// use. They do the same as those of [frontier.Frontier]; the package comment lists the
// differences.
type Client struct {
	opt  Options
	http *http.Client
	base string // http://host:port

	offers  batcher // URLs to queue
	seen    batcher // URLs to see
	settles batcher // leases to settle
	line    line    // callers that wait in Next

	mu      sync.Mutex
	closed  bool
	working sync.WaitGroup // calls and goroutines under way
	closing chan struct{}  // closed by Close
}

var _ frontier.Interface = (*Client)(nil)

// Open connects to a daemon and checks its profile: if it is another than Options.Profile, the
// error is store.ErrIdentity. Like all calls, Open waits up to Options.Patience for a daemon that
// is not available.
func Open(ctx context.Context, opt Options) (*Client, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	scheme := "http://"
	if opt.TLS != nil {
		scheme = "https://"
	}
	c := &Client{opt: opt, base: scheme + opt.Addr, closing: make(chan struct{}), http: &http.Client{
		Transport:     opt.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.line.c = c
	c.offers = batcher{c: c, what: "add URLs", send: c.sendLines("/v1/urls")}
	c.seen = batcher{c: c, what: "see URLs", send: c.sendLines("/v1/seen")}
	c.settles = batcher{c: c, what: "settle leases", send: c.sendLeases}
	if err := c.greet(ctx); err != nil {
		c.http.CloseIdleConnections()
		return nil, fmt.Errorf("cannot open client of %s: %w", opt.Addr, err)
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context) error {
	got, err := c.stats(ctx, "*")
	if err != nil || c.opt.Profile == nil || got.Profile == c.opt.Profile.String() {
		return err
	}
	return fault.As(store.ErrIdentity, "got a daemon of profile %q; want %q", got.Profile, c.opt.Profile)
}

// Close ends the client: calls waiting in Next return store.ErrClosed. Close waits for other
// calls in flight, including all parts of a large batch; a request that gets no answer within 30 s
// is not sent again. Unsettled leases stay in the daemon until they expire; Release them before
// Close to make their URLs available immediately. A second Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.closing)
	c.mu.Unlock()
	c.working.Wait()
	c.http.CloseIdleConnections()
	return nil
}

// enter begins a call that Close must wait for; leave ends it.
func (c *Client) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return store.ErrClosed
	}
	c.working.Add(1)
	return nil
}

func (c *Client) leave() { c.working.Done() }
