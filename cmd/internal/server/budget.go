package server

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// budget is what a client may take of a pool of bytes.
type budget struct {
	pool   *admit.Pool
	client admit.Client
	// patience is how long take waits. The default is no bound.
	patience time.Duration
}

// inHand returns the budget for what a call has decoded, holds for a commit, or answers.
func (s *gate) inHand(ctx context.Context) budget {
	return budget{pool: s.admission.inHand, client: clientOf(ctx)}
}

// received returns the budget for what a call has received and not decoded. Calls that have
// received half of something may wait for each other, so that a wait has a bound.
func (s *gate) received(ctx context.Context) budget {
	return budget{pool: s.admission.received, client: clientOf(ctx), patience: s.patience}
}

func clientOf(ctx context.Context) admit.Client {
	if c := callOf(ctx); c != nil {
		return c.client
	}
	return admit.Client{}
}

// take waits until it can take n bytes, or half of all if that is less, and returns how
// many it took. They are for give.
func (b budget) take(ctx context.Context, n int64) (int64, error) {
	if b.patience <= 0 {
		return b.pool.Take(ctx, b.client, n)
	}
	limited, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	n, err := b.pool.Take(limited, b.client, n)
	if err != nil && ctx.Err() == nil {
		err = errBusy
	}
	return n, err
}

// try takes n bytes if that is possible immediately, and reports whether it was.
func (b budget) try(n int64) bool { return b.pool.Try(b.client, n) }

// most returns what something that costs n is charged: half of all at most.
func (b budget) most(n int64) int64 { return b.pool.Most(n) }

func (b budget) give(n int64) { b.pool.Give(b.client, n) }

// holding is what something took of a budget.
type holding struct {
	budget budget
	n      int64
}

// take adds n bytes.
func (h *holding) take(ctx context.Context, n int64) error {
	n, err := h.budget.take(ctx, n)
	h.n += n
	return err
}

// try adds n bytes if that is possible immediately, and reports whether it was.
func (h *holding) try(n int64) bool {
	ok := h.budget.try(n)
	if ok {
		h.n += n
	}
	return ok
}

// keep returns all but n bytes to the pool.
func (h *holding) keep(n int64) {
	if n < h.n {
		h.budget.give(h.n - n)
		h.n = n
	}
}

// done returns all bytes to the pool. A nil holding has none.
func (h *holding) done() {
	if h != nil {
		h.keep(0)
	}
}
