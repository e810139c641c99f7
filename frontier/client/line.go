package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// line is the line of callers waiting in Next. While there are any, one request
// waits in the daemon for all of them together.
type line struct {
	mu      sync.Mutex
	waiting []*waiter
	serving bool               // the goroutine is there
	staying bool               // its request waits on when the daemon holds nothing
	stop    context.CancelFunc // ends its request, nil before the first
}

// waiter is one caller; got has room for its one answer.
type waiter struct {
	got  chan answer
	ends bool // wants errFinished when nothing is held any more
}

type answer struct {
	lease *frontier.Lease
	err   error
}

var errFinished = errors.New("client: nothing is queued or leased")

const (
	// maxTogether bounds what is leased at once for those who wait.
	maxTogether = 256
	// wait is how long a request waits in the daemon: shorter than what
	// proxies between take for dead.
	wait = 25 * time.Second
)

// Next waits until something may be fetched and hands it out. It returns the
// error of ctx, or store.ErrClosed after Close. It leases nothing in advance: a
// URL is asked for when somebody waits for it.
func (c *Client) Next(ctx context.Context) (*frontier.Lease, error) { return c.next(ctx, false) }

// Leases yields what Next returns, until the crawl is finished: nothing is
// queued and nothing is leased in the daemon, in any crawl and by anybody. It
// ends with the first error. Several goroutines may each range over their own
// Leases.
func (c *Client) Leases(ctx context.Context) iter.Seq2[*frontier.Lease, error] {
	return func(yield func(*frontier.Lease, error) bool) {
		for {
			lease, err := c.next(ctx, true)
			if errors.Is(err, errFinished) || !yield(lease, err) || err != nil {
				return
			}
		}
	}
}

func (c *Client) next(ctx context.Context, ends bool) (*frontier.Lease, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &waiter{got: make(chan answer, 1), ends: ends}
	c.join(w)
	select {
	case a := <-w.got:
		return a.lease, a.err
	case <-ctx.Done():
		return c.leaveLine(w, ctx.Err())
	case <-c.closing:
		return c.leaveLine(w, store.ErrClosed)
	}
}

// join puts a waiter in line and sees to it that it is served.
func (c *Client) join(w *waiter) {
	l := &c.line
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, w)
	switch {
	case !l.serving:
		l.serving = true
		c.working.Go(c.serveLine)
	case w.ends && l.staying:
		l.stop() // the request under way would not say that the crawl is finished
	}
}

// leaveLine takes a waiter out. If it was served meanwhile, it keeps what it got.
func (c *Client) leaveLine(w *waiter, err error) (*frontier.Lease, error) {
	l := &c.line
	l.mu.Lock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	if len(l.waiting) == 0 && l.stop != nil {
		l.stop()
	}
	l.mu.Unlock()
	if i >= 0 {
		return nil, err
	}
	a := <-w.got
	return a.lease, a.err
}

// serveLine serves those who wait until there are none.
func (c *Client) serveLine() {
	stay := false
	for {
		n, ctx, cancel := c.line.begin(stay)
		if n == 0 {
			return
		}
		b := c.leaseBody(frontier.LeaseRequest{Max: min(n, maxTogether)})
		b.WaitSeconds, b.Stay = wait.Seconds(), stay
		leases, answer, err := c.take(ctx, b)
		stopped := ctx.Err() != nil
		cancel()
		switch {
		case err == nil && answer.Finished:
			stay = true // for those who stay; begin knows whether there are others
			c.line.tellFinished()
		case err == nil:
			c.giveBack(c.line.hand(leases))
			stay = stay && len(leases) == 0
		case stopped:
			stay = false
		default:
			c.line.tellAll(err)
			stay = false
		}
	}
}

// begin returns how many wait, and the context of the request to make for them.
// With none, the goroutine that asks must end.
func (l *line) begin(stay bool) (int, context.Context, context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = len(l.waiting) > 0
	l.staying = stay
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	if !l.serving {
		cancel()
	}
	return len(l.waiting), ctx, cancel
}

// hand gives leases to those first in line, and returns what is left when some
// of them went away.
func (l *line) hand(leases []*frontier.Lease) (left []*frontier.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(leases), len(l.waiting))
	for i, w := range l.waiting[:n] {
		w.got <- answer{lease: leases[i]}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	return leases[n:]
}

// tellAll answers all who wait.
func (l *line) tellAll(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w.got <- answer{err: err}
	}
	l.waiting = nil
}

// tellFinished ends the waiting of those who want to know when nothing is held.
func (l *line) tellFinished() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if w.ends {
			w.got <- answer{err: errFinished}
		}
		return w.ends
	})
}

// giveBack releases leases nobody took. If that fails they run out.
func (c *Client) giveBack(left []*frontier.Lease) {
	if len(left) == 0 {
		return
	}
	settlements := make([]frontier.Settlement, len(left))
	for i, l := range left {
		settlements[i] = frontier.Settlement{Lease: l, Outcome: frontier.Release}
	}
	_, _ = c.settle(context.Background(), settlements)
}
