package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Client is a frontier behind a daemon. All methods are safe for concurrent
// use. They do the same as those of [frontier.Frontier]; the package comment lists the
// differences.
type Client struct {
	frontier.OneByOne // Add, Done, Retry, Recrawl, Drop, Release

	// Set by Open alone.
	opt  Options
	http *http.Client
	base string // http://host:port

	// Each with a mutex of its own.
	offers  batcher // URLs to queue
	seen    batcher // URLs to see
	settles batcher // leases to settle
	line    line    // callers that wait in Next

	mu      sync.Mutex
	closed  bool           // guarded by mu
	working sync.WaitGroup // calls and goroutines under way; no call begins after closed is set
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
		Transport:     opt.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.OneByOne, c.line.c = frontier.NewOneByOne(c), c
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

// Options configure a Client. The zero value is a client of the daemon that
// `firstseen serve` starts on this machine, with the politeness of a zero
// frontier.Options.
type Options struct {
	// Addr is the host:port of the daemon's HTTP interface. The default is
	// 127.0.0.1:7072.
	Addr string
	// TLS configures https: the CA certificates and a client certificate. The default, nil, is
	// http.
	TLS *tls.Config
	// Token is a bearer token; write scope suffices. The default is none.
	Token string
	// Crawl has the same meaning as [frontier.Options.Crawl]. The default is
	// store.DefaultCrawl.
	Crawl string
	// Name is the client of its leases, so that they can be freed when it died: see [frontier.LeaseRequest.Client]. The default is
	// none.
	Name string
	// Profile is the profile the daemon must have: with another, Open fails with
	// store.ErrIdentity. The default is nil: whatever it has.
	Profile *canon.Profile

	// Lease is how long a URL is held for its fetcher. The default is 2 min.
	Lease time.Duration
	// Delay is the least time from one hand-out of a queue to the next, for
	// queues without a delay of their own; negative is none. The default is the
	// daemon's.
	Delay time.Duration
	// MaxInFlight bounds the leases of one queue at any time, for queues without
	// a bound of their own; negative is none. The default is 1.
	MaxInFlight int

	// Patience is how long a call keeps trying while the daemon isn't
	// available, from the first failure on; negative is as long as its context allows. The default is 1 min.
	Patience time.Duration
	// OnWait is that of [frontier.Options]. The daemon answers every 25 s.
	OnWait func(frontier.Idle)
	// Logger receives a warning when a call has waited for some seconds, since the daemon is not available. The default is slog.Default().
	Logger *slog.Logger
	// Transport makes the requests, for example to handlers in this process. The default is one of its own, with TLS.
	Transport http.RoundTripper
	tuning
}

// tuning is what only tests change.
type tuning struct {
	timeout  time.Duration // of a request, before it is sent again
	requests int           // in flight that offer URLs, and as many that settle leases
}

func (o Options) withDefaults() Options {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:7072")
	o.Crawl = cmp.Or(o.Crawl, store.DefaultCrawl)
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 1)
	o.Patience = cmp.Or(o.Patience, time.Minute)
	o.timeout = cmp.Or(o.timeout, 30*time.Second)
	o.requests = cmp.Or(o.requests, 4)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			TLSClientConfig:     o.TLS,
			TLSHandshakeTimeout: o.timeout,
			ForceAttemptHTTP2:   true,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 4*o.requests + 8,
			IdleConnTimeout:     90 * time.Second,
		}
	}
	return o
}

// named returns the crawl that a name means, which may be "*".
func (o *Options) named(crawl string) string {
	if crawl == "" && o.Crawl == "*" {
		return store.DefaultCrawl
	}
	return cmp.Or(crawl, o.Crawl)
}

func (o Options) validate() error {
	if !utf8.ValidString(o.Crawl) {
		return fault.As(ErrNotCarried, "cannot open client; got crawl %q, which isn't UTF-8", o.Crawl)
	}
	if o.Lease < 0 {
		return fault.As(store.ErrInvalid, "cannot open client; got Lease %v; want none below 0", o.Lease)
	}
	return nil
}
