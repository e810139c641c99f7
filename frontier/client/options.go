package client

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

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
	tuning
}

// tuning is what only tests change.
type tuning struct {
	timeout  time.Duration // of a request, before it is sent again
	requests int           // in flight that offer URLs, and as many that settle leases
	// transport makes the requests.
	transport http.RoundTripper
}

func (o Options) withDefaults() Options {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:7072")
	o.Crawl = cmp.Or(o.Crawl, store.DefaultCrawl)
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 1)
	o.Patience = cmp.Or(o.Patience, time.Minute)
	o.timeout = cmp.Or(o.timeout, 30*time.Second)
	o.requests = cmp.Or(o.requests, 4)
	if o.transport == nil {
		o.transport = &http.Transport{
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
