package server

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// Leases stay in memory until the client has taken them, and may be 4,096 URLs with 128 KiB
// each. So a step leases leaseBytes at most, and is paid for before: a client that leases
// and takes no answers has its share of Config.MaxInHand, and leases nothing more.

const (
	// leaseBytes ends a step that leases.
	leaseBytes = 2 << 20
	// leaseOverhead is about what a lease takes besides its text and data.
	leaseOverhead = 512
	// sentCopies and jsonCopies are how often the text and data of a lease are in memory
	// while it is answered, over gRPC and as JSON.
	sentCopies, jsonCopies = 2, 4
)

const (
	// defaultLease is how long URLs are held for a client that doesn't say.
	defaultLease = 30 * time.Second
	// takeAtOnce bounds the URLs leased in one step, so that a client that asks
	// for all URLs is served in pieces, and leases none that it does not read.
	takeAtOnce = 4096
	// unbounded stands for "no bound" where the frontier has none of its own.
	unbounded = 1 << 30
)

// payForLeases takes what a step for a request may cost, and bounds the step by it. If
// there is too little for a whole step, it leases less: others may hold most of all for as
// long as their clients take no answers.
func (s *service) payForLeases(ctx context.Context, req *frontier.LeaseRequest, copies int64) (*holding, error) {
	each := int64(leaseOverhead + s.cfg.MaxURL + s.cfg.MaxMetadata)
	held := s.inHand(ctx)
	for req.MaxBytes = leaseBytes; req.MaxBytes > each; req.MaxBytes /= 2 {
		if held.try(copies * min(int64(req.Max)*each, req.MaxBytes+each)) {
			return held, nil
		}
	}
	req.MaxBytes = 1 // one URL
	held.pool = s.admission.single
	return held, held.take(ctx, copies*each)
}

// costOfLeases returns what leases cost once they are there.
func costOfLeases(leases []*frontier.Lease, copies int64) int64 {
	return copies * (bytesOfLeases(leases) + leaseOverhead*int64(len(leases)))
}

func bytesOfLeases(leases []*frontier.Lease) (n int64) {
	for _, l := range leases {
		n += int64(len(l.URL) + len(l.Meta))
	}
	return n
}

// payLate takes what leases cost that a call waited for: it could not be paid before, since
// thousands of calls wait. Few may wait to pay. The leases of others are given back, and
// their calls refused.
func (s *service) payLate(ctx context.Context, leases []*frontier.Lease) (*holding, error) {
	held := s.inHand(ctx)
	cost := held.pool.Most(costOfLeases(leases, jsonCopies))
	if held.try(cost) {
		return held, nil
	}
	err := error(errBusy)
	if client := clientOf(ctx); s.admission.late.Try(client, 1) {
		err = held.take(ctx, cost)
		s.admission.late.Give(client, 1)
	}
	if err != nil {
		s.release(leases)
	}
	return held, err
}

// leaseNow leases what there is: nothing while this daemon is paused. A write is refused on a
// full disk, and a lease is one. Both may begin while the call waits for its turn.
func (s *service) leaseNow(ctx context.Context, req frontier.LeaseRequest) (leases []*frontier.Lease, idle frontier.Idle, err error) {
	if err = s.rest(ctx); err != nil {
		return nil, idle, err
	}
	err = s.inTurn(ctx, req.Max, func(ctx context.Context) (err error) {
		if err := s.room(); err != nil {
			return err
		}
		if s.pausedHere.now() {
			idle.State = store.Paused
			return nil
		}
		leases, idle, err = s.f.Lease(ctx, req)
		return err
	})
	return leases, idle, err
}

// countLeases counts URLs that are handed out, also for the rate of the token.
func (s *service) countLeases(ctx context.Context, n int) {
	s.count.getURLs.Add(float64(n))
	s.rateOf(ctx).charge(n)
}

func (s *service) release(leases []*frontier.Lease) {
	back := make([]frontier.Settlement, len(leases))
	for i, l := range leases {
		back[i] = frontier.Settlement{Lease: l, Outcome: frontier.Release}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := s.f.own.Settle(ctx, back); err != nil {
		s.log.Warn("cannot release leases that no client received; they stay until they expire", "leases", len(back), "error", err)
	}
}

// guardedSettle settles where the disk has room.
func (s *service) guardedSettle(ctx context.Context, settlements []frontier.Settlement) ([]frontier.Settled, error) {
	if err := s.room(); err != nil {
		return nil, err
	}
	return s.f.Settle(ctx, settlements)
}

var outcomeLabels = map[frontier.Outcome]string{
	frontier.Done: "done", frontier.Retry: "retry", frontier.Recrawl: "recrawl",
	frontier.Drop: "dropped", frontier.Release: "released", frontier.Extend: "extended", frontier.Defer: "deferred", frontier.Redirected: "redirected",
}

func (s *service) countSettled(outcome frontier.Outcome, a frontier.Settled) {
	label := outcomeLabels[outcome]
	switch {
	case a == frontier.Stale || a == frontier.AlreadyDone:
		label = a.String()
	case a == frontier.GaveUp:
		label = "dropped"
	case outcome == frontier.Done:
		s.count.putCompleted.Inc()
	}
	s.count.settled.WithLabelValues(label).Inc()
}
