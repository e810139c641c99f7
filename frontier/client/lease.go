package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// unbounded stands for "no bound" where the daemon has a default.
const unbounded = 1 << 30

// Lease leases URLs that may be fetched now, at most req.Max. It doesn't wait: none is
// an answer. The daemon hands out at most 4096 in one answer. next is when another request may get more
// if nothing is added before.
func (c *Client) Lease(ctx context.Context, req frontier.LeaseRequest) (leases []*frontier.Lease, next time.Time, err error) {
	if err := c.enter(); err != nil {
		return nil, time.Time{}, err
	}
	defer c.leave()
	req.Crawl = cmp.Or(req.Crawl, c.opt.Crawl)
	if req.Crawl == "*" && req.Queue != "" {
		return nil, time.Time{}, fault.As(store.ErrInvalid, "cannot lease from queue %q; got any crawl; want the name of one", req.Queue)
	}
	if req.MaxExpired != 0 {
		return nil, time.Time{}, fault.As(ErrNotCarried, "cannot lease: MaxExpired is set by the daemon (--max-expired), not by a client")
	}
	leases, answer, err := c.take(ctx, c.leaseBody(req))
	return leases, answer.Next, err
}

// leaseBody fills in the options.
func (c *Client) leaseBody(req frontier.LeaseRequest) wire.LeaseRequest {
	req.Crawl = cmp.Or(req.Crawl, c.opt.Crawl)
	req.Lease = cmp.Or(req.Lease, c.opt.Lease)
	req.Delay = cmp.Or(req.Delay, c.opt.Delay)
	req.MaxInFlight = cmp.Or(req.MaxInFlight, c.opt.MaxInFlight)
	b := wire.LeaseRequest{Crawl: req.Crawl, Queue: req.Queue, Max: max(req.Max, 1), MaxQueues: max(req.MaxQueues, 0), MaxPerQueue: max(req.MaxPerQueue, 1),
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
