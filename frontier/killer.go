package frontier

import (
	"context"
	"time"
)

// record is what the frontier keeps with the URL of a lease.
func (l *Lease) record() record {
	return record{depth: l.Depth, hops: l.Redirects, disc: l.Discriminator, returned: l.returned, meta: l.Meta}
}

// expired is how many leases before this one ran out: those that nobody gave
// back.
func (l *Lease) expired() int { return max(l.Attempts-1-l.returned, 0) }

// dropKillers drops what was taken and is not to be handed out, because too many
// who had it were not heard of again. It returns when to ask again: where they filled
// the answer, other URLs may be due. Where this fails, the lease runs out by itself,
// and the URL is dropped at its next turn.
func (f *Frontier) dropKillers(ctx context.Context, killers []Settlement, next time.Time) time.Time {
	if len(killers) == 0 {
		return next
	}
	for i := range killers {
		killers[i].Lease.Started = time.Time{} // no fetch to be told of
	}
	_, err := f.settle(ctx, killers)
	switch {
	case !next.IsZero():
		return next
	case err != nil:
		return time.Now().Add(time.Second) // what fails now may go on failing
	}
	return time.Now()
}
