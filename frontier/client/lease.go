package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// unbounded stands for "no bound" where the daemon has a default.
const unbounded = 1 << 30

// Lease leases URLs that may be fetched now, at most req.Max. It doesn't wait: none is
// an answer, and idle says why. The daemon hands out at most 4096 in one answer.
func (c *Client) Lease(ctx context.Context, req frontier.LeaseRequest) (leases []*frontier.Lease, idle frontier.Idle, err error) {
	if err := c.enter(); err != nil {
		return nil, idle, err
	}
	defer c.leave()
	req.Crawl = cmp.Or(req.Crawl, c.opt.Crawl)
	if req.Crawl == "*" && req.Queue != "" {
		return nil, idle, fault.As(store.ErrInvalid, "cannot lease from queue %q; got any crawl; want the name of one", req.Queue)
	}
	if req.MaxExpired != 0 {
		return nil, idle, fault.As(ErrNotCarried, "cannot lease: MaxExpired is set by the daemon (--max-expired), not by a client")
	}
	leases, answer, err := c.take(ctx, c.leaseBody(req))
	return leases, idleOf(&answer), err
}

var takeStates = map[string]store.TakeState{"finished": store.Finished, "paused": store.Paused, "waiting": store.Waiting,
	"limited": store.Limited, "blocked": store.Blocked, "delayed": store.Delayed}

func idleOf(a *wire.Leases) frontier.Idle {
	state := takeStates[a.State]
	if a.Finished {
		state = store.Finished // all that a daemon of an earlier build says
	}
	return frontier.Idle{State: state, Next: a.Next, FailingQueue: a.FailingQueue,
		Holding: store.Holding{Queues: a.HoldingQueues, Paused: a.PausedQueues, Limited: a.LimitedQueues, Blocked: a.BlockedQueues}}
}

// leaseBody fills in the options.
func (c *Client) leaseBody(req frontier.LeaseRequest) wire.LeaseRequest {
	req.Crawl = cmp.Or(req.Crawl, c.opt.Crawl)
	req.Lease = cmp.Or(req.Lease, c.opt.Lease)
	req.Client = cmp.Or(req.Client, c.opt.Name)
	req.Delay = cmp.Or(req.Delay, c.opt.Delay)
	req.MaxInFlight = cmp.Or(req.MaxInFlight, c.opt.MaxInFlight)
	b := wire.LeaseRequest{Crawl: req.Crawl, Queue: req.Queue, Client: req.Client, Max: max(req.Max, 1), MaxQueues: max(req.MaxQueues, 0), MaxPerQueue: max(req.MaxPerQueue, 1),
		MaxInFlight: min(req.MaxInFlight, unbounded), LeaseSeconds: req.Lease.Seconds(), RawMeta: true}
	if req.MaxInFlight < 0 {
		b.MaxInFlight = unbounded
	}
	if req.Delay != 0 {
		seconds := max(req.Delay, 0).Seconds()
		b.DelaySeconds = &seconds
	}
	return b
}

func (c *Client) take(ctx context.Context, b wire.LeaseRequest) ([]*frontier.Lease, wire.Leases, error) {
	var answer wire.Leases
	body, err := json.Marshal(b)
	if err != nil {
		return nil, answer, fmt.Errorf("cannot lease: %w", err)
	}
	r := &request{method: http.MethodPost, path: "/v1/lease", body: body, timeout: time.Duration(b.WaitSeconds * float64(time.Second))}
	if _, err := c.ask(ctx, "lease URLs", r, &answer); err != nil {
		return nil, answer, err
	}
	leases := make([]*frontier.Lease, len(answer.Leases))
	for i := range answer.Leases {
		if leases[i], err = leaseOf(&answer.Leases[i]); err != nil {
			return nil, answer, err
		}
	}
	return leases, answer, nil
}

// line is the line of callers waiting in Next. While there are any, one request
// waits in the daemon for all of them together.
type line struct {
	async.Line[*frontier.Lease]
	c       *Client
	staying bool               // guarded by the lock of the line; its request waits on when the daemon holds nothing
	stop    context.CancelFunc // guarded by the lock of the line; ends its request, nil before the first
	idle    frontier.Idle      // guarded by the lock of the line; what the latest answer without leases said
}

func (l *line) waitsFor() (idle frontier.Idle) {
	l.Locked(func(bool) { idle = l.idle })
	return idle
}

// note keeps why there was nothing to lease, and reports whether that is another reason than before.
func (l *line) note(idle frontier.Idle) (is bool) {
	l.Locked(func(bool) { is, l.idle = l.idle != idle, idle })
	return is
}

// wait is how long a request waits in the daemon: shorter than what proxies
// between take for dead.
const wait = 25 * time.Second

// Next waits until something of [Options.Crawl] may be fetched and hands it out. It returns the
// error of ctx, or store.ErrClosed after Close. It leases nothing in advance: a
// URL is requested only while a caller waits for it.
func (c *Client) Next(ctx context.Context) (*frontier.Lease, error) { return c.next(ctx, false) }

// Leases yields what Next returns, until the crawl is finished: nothing of it is
// queued in the daemon or leased by any client. It ends with the first error, and with
// frontier.ErrLimited when what is left has reached a limit. What it waits for meanwhile,
// [Options.OnWait] is told.
// Several goroutines may each range over their own Leases.
func (c *Client) Leases(ctx context.Context) iter.Seq2[*frontier.Lease, error] {
	return async.All(func() (*frontier.Lease, error) { return c.next(ctx, true) })
}

func (c *Client) next(ctx context.Context, ends bool) (*frontier.Lease, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	leases, err := c.line.Wait(ctx, c.closing, store.ErrClosed, &c.line, 1, ends)
	if err == nil {
		return leases[0], nil
	}
	if idle := c.line.waitsFor(); idle.State != store.Served && ctx.Err() != nil {
		err = fmt.Errorf("cannot lease; the crawl is %v: %w", idle, err)
	}
	return nil, err
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
		idle := idleOf(&answer)
		if err == nil && c.line.note(idle) && idle.State != store.Served && !b.Stay && c.opt.OnWait != nil {
			c.opt.OnWait(idle)
		}
		switch {
		case err == nil && idle.State == store.Finished:
			stay = true // for those who stay; begin sees whether there are others
			c.line.Finish(async.ErrFinished)
		case err == nil && idle.State == store.Limited:
			stay = true
			c.line.Finish(fmt.Errorf("%w: %v", frontier.ErrLimited, idle))
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
