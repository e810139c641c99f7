package client

import (
	"context"
	"iter"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/internal/waitline"
)

// line is the line of callers waiting in Next. While there are any, one request
// waits in the daemon for all of them together.
type line struct {
	waitline.Line[*frontier.Lease]
	c *Client
	// With the line locked:
	staying bool               // its request waits on when the daemon holds nothing
	stop    context.CancelFunc // ends its request, nil before the first
}

// wait is how long a request waits in the daemon: shorter than what proxies
// between take for dead.
const wait = 25 * time.Second

// Next waits until something of [Options.Crawl] may be fetched and hands it out. It returns the
// error of ctx, or store.ErrClosed after Close. It leases nothing in advance: a
// URL is requested only while a caller waits for it.
func (c *Client) Next(ctx context.Context) (*frontier.Lease, error) { return c.next(ctx, false) }

// Leases yields what Next returns, until the crawl is finished: nothing of it is
// queued in the daemon or leased by any client. It ends with the first error.
// Several goroutines may each range over their own Leases.
func (c *Client) Leases(ctx context.Context) iter.Seq2[*frontier.Lease, error] {
	return waitline.All(func() (*frontier.Lease, error) { return c.next(ctx, true) })
}

func (c *Client) next(ctx context.Context, ends bool) (*frontier.Lease, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	leases, err := c.line.Wait(ctx, c.closing, &c.line, 1, ends)
	if err != nil {
		return nil, err
	}
	return leases[0], nil
}

// Serve begins to serve the line.
func (l *line) Serve() { l.c.working.Go(l.c.serveLine) }

// Joined stops the request under way if it would not report that the crawl is finished.
func (l *line) Joined(ends bool) {
	if ends && l.staying {
		l.stop()
	}
}

// Left stops the request in flight if no caller waits for it any more.
func (l *line) Left(waiting int) {
	if waiting == 0 && l.stop != nil {
		l.stop()
	}
}

// serveLine serves the waiting callers until there are none.
func (c *Client) serveLine() {
	stay := false
	for {
		n, ctx, cancel := c.line.begin(&stay)
		if n == 0 {
			return
		}
		b := c.leaseBody(frontier.LeaseRequest{Max: n})
		b.WaitSeconds, b.Stay = wait.Seconds(), stay
		leases, answer, err := c.take(ctx, b)
		stopped := ctx.Err() != nil
		cancel()
		switch {
		case err == nil && answer.Finished:
			stay = true // for those who stay; begin sees whether there are others
			c.line.Finish(waitline.ErrFinished)
		case err == nil:
			c.giveBack(c.line.Hand(leases))
			stay = stay && len(leases) == 0
		case stopped:
			stay = false
		default:
			c.line.Fail(err)
			stay = false
		}
	}
}

// begin returns the number of waiting callers, and the context of the request for them. The request
// does not stay if a caller waits for the end, because that caller may have joined when there was no request
// that Joined could stop. If no caller waits, the requesting goroutine must end.
func (l *line) begin(stay *bool) (int, context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	n := l.Begin(func(ends bool) {
		*stay = *stay && !ends
		l.staying, l.stop = *stay, cancel
	})
	if n == 0 {
		cancel()
	}
	return n, ctx, cancel
}

// giveBack releases leases that no caller took. If that fails they run out.
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
