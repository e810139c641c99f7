package pebblestore

import (
	"context"
	"sync/atomic"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// op is one step of a caller. Its results are fields that apply fills and the
// caller reads when do has returned nil.
type op interface {
	// weight is about how many rows the step writes or keys it looks up.
	weight() int
	// apply carries the step out. The committer calls it, alone and holding
	// Store.mu. It must find every error before it changes anything: an error
	// goes to its caller, and the rest of the group is applied.
	apply(tx *txn) error
}

// stepOp is a small step of the store itself.
type stepOp func(tx *txn) error

func (stepOp) weight() int { return 1 }

func (o stepOp) apply(tx *txn) error { return o(tx) }

// request is an op on its way to the committer and back.
type request struct {
	op    op
	state atomic.Int32
	err   error
	done  chan struct{} // gets the one answer: the step was carried out, or err says why not
}

const (
	waiting int32 = iota
	accepted
	withdrawn
)

// do hands o to the committer and waits until it is durable. Until the
// committer takes it, the end of ctx withdraws it. When do returns, what o has is the caller's, but for
// what the committer reads of a step that was withdrawn: its kind, weight and crawl.
func (s *Store) do(ctx context.Context, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.admit(ctx, o); err != nil {
		return err
	}
	r := s.requests.Get().(*request)
	r.op = o
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	if ctx.Done() == nil { // waiting for one channel costs half as much as for two
		<-r.done
		return s.answer(r)
	}
	select {
	case <-r.done:
		return s.answer(r)
	case <-s.stuck:
		return s.failure() // r stays the committer's
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(waiting, withdrawn) {
		return ctx.Err()
	}
	select {
	case <-r.done:
		return s.answer(r)
	case <-s.stuck:
		return s.failure()
	}
}

// admit waits until o may go to the committer: leases, and Prepare, which comes before
// the first of them, need no key and no place, and do not wait for those that Open found.
func (s *Store) admit(ctx context.Context, o op) error {
	switch o.(type) {
	case learnedOp:
		return nil
	case readOp:
	default:
		if s.opt.Mode == OpenReadOnly {
			return fault.As(store.ErrInvalid, "cannot write: the store is open for reading only")
		}
	}
	switch o.(type) {
	case *takeOp, *prepareOp:
		return nil
	}
	if async.Closed(s.learned) {
		return nil
	}
	select {
	case <-s.learned:
		return nil
	case <-s.dead:
		return s.failure()
	case <-s.closing:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer returns the answer to r, and puts r back into the pool. Of one that was called back the
// committer still holds the address.
func (s *Store) answer(r *request) error {
	err := r.err
	r.op, r.err = nil, nil
	r.state.Store(waiting)
	s.requests.Put(r)
	return err
}

// enqueue puts r in the committer's queue. Close waits for the gate, so
// nothing comes after the queue is closed.
func (s *Store) enqueue(ctx context.Context, r *request) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.usable(); err != nil {
		return err
	}
	select {
	case s.queue <- r:
		return nil
	default:
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
