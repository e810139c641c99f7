package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// grant is what a token allows. It does not change; a reload makes new ones.
type grant struct {
	name   string
	scope  Scope
	crawls []string // nil for all
	// adds and leases bound the URLs offered and handed out; nil for no bound.
	adds, leases *rate
}

// everything is what a call is allowed where no token is required.
var everything = grant{name: "-", scope: Admin}

// touches reports whether a grant is for a crawl. "*" is all crawls.
func (g *grant) touches(crawl string) bool {
	return g.crawls == nil || slices.Contains(g.crawls, cmp.Or(crawl, defaultCrawl))
}

// may reports whether a grant allows a call, but for its crawl: a token with a list of crawls
// cannot call what concerns all of them.
func (g *grant) may(method string, need Scope) bool {
	_, byCrawl := ofCrawls[method]
	return g.scope >= need && (g.crawls == nil || byCrawl)
}

// set sets what a word NAME=VALUE of a token file says.
func (g *grant) set(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "name":
		if g.name = value; value == "" || len(value) > 64 {
			return fmt.Errorf("cannot use name of %d bytes; want 1 to 64", len(value))
		}
	case "crawls":
		g.crawls = strings.Split(value, ",")
		for _, name := range g.crawls {
			if name == "" || name == "*" || name == controlCrawl {
				return fmt.Errorf("cannot use crawls=; got crawl %q; want names with commas between them; for all crawls, leave it out", name)
			}
		}
	case "adds":
		g.adds, err = newRate(key, value)
	case "leases":
		g.leases, err = newRate(key, value)
	default: // it may be a token at the wrong place
		return fmt.Errorf("cannot read what follows the token; want name=, crawls=, adds= or leases=")
	}
	return err
}

// rateKind is what a call does that its token may have a rate for.
type rateKind uint8

const (
	noRate rateKind = iota
	addRate
	leaseRate
)

func (g *grant) rate(k rateKind) *rate {
	switch k {
	case addRate:
		return g.adds
	case leaseRate:
		return g.leases
	}
	return nil
}

// rate bounds URLs per second. They are paid for afterwards: when more were offered or handed
// out, the next piece of work waits. So no batch is too large for a rate. Safe for concurrent use.
type rate struct {
	perSecond float64

	mu   sync.Mutex
	paid time.Time // when all of before is paid
}

func newRate(key, text string) (*rate, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0.001 && n <= 1e9) {
		return nil, fmt.Errorf("cannot use %s=; got %.40q; want URLs per second, 0.001 to 1e9", key, text)
	}
	return &rate{perSecond: n}, nil
}

// charge adds the time of n URLs to the debt of the token.
func (r *rate) charge(n int) {
	if r == nil || n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.paid.Before(now) {
		r.paid = now
	}
	r.paid = r.paid.Add(time.Duration(min(float64(n)/r.perSecond, 1e6) * float64(time.Second)))
}

// owed returns the time until the debt is paid.
func (r *rate) owed() time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(time.Until(r.paid), 0)
}

// keep returns the rate of before a reload, with its debt, if the rate is the same.
func (r *rate) keep(before *rate) *rate {
	if r != nil && before != nil && r.perSecond == before.perSecond {
		return before
	}
	return r
}

// rateOf returns the rate of a call now, nil if it has none.
func (s *gate) rateOf(ctx context.Context) *rate {
	c := callOf(ctx)
	if s.tokens == nil || c == nil {
		return nil
	}
	have := s.tokens.of(c.token)
	if have == nil {
		return nil
	}
	return have.rate(ofCrawls[c.method])
}

// rest blocks until the token of a call has paid its debt, or the server drains.
// It must not be called within a turn, whose units others wait for.
func (s *gate) rest(ctx context.Context) error {
	for {
		owed := s.rateOf(ctx).owed()
		if owed == 0 || s.isDraining() {
			return nil
		}
		timer := time.NewTimer(min(owed, time.Second)) // a reload may change the rate
		select {
		case <-timer.C:
		case <-s.draining:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}
