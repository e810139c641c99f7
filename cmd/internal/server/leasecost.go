package server

import (
	"context"

	"github.com/firstseen/firstseen/frontier"
)

// What is leased is in memory until its client took it, and may be 4,096 URLs with 128 KiB
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
	// singleBytes is for steps of one URL when there is no more of Config.MaxInHand.
	singleBytes = 8 << 20
	// maxLate bounds the calls that waited for leases and, with these in memory, wait to
	// pay for them.
	maxLate = 16
)

// payForLeases takes what a step for a request may cost, and bounds the step by it. If
// there is too little for a whole step, it leases less: others may hold most of all for as
// long as their clients take no answers.
func (s *service) payForLeases(ctx context.Context, req *frontier.LeaseRequest, copies int64) (*holding, error) {
	each := int64(leaseOverhead + s.cfg.MaxURL + s.cfg.MaxMetadata)
	held := &holding{budget: s.inHand(ctx)}
	for req.MaxBytes = leaseBytes; req.MaxBytes > each; req.MaxBytes /= 2 {
		if held.try(copies * min(int64(req.Max)*each, req.MaxBytes+each)) {
			return held, nil
		}
	}
	req.MaxBytes = 1 // one URL
	held.budget.pool = s.admission.single
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
	held := &holding{budget: s.inHand(ctx)}
	cost := held.budget.most(costOfLeases(leases, jsonCopies))
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
