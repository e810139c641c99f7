package pebblestore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Nobody waits for others longer than a few steps take, so no step may take long. But what some callers ask for grows with a
// queue, a crawl or the store. Bounds of rows alone, one for each kind of work, did not do: a row costs a
// microsecond or a hundred, by what the caches have, and those that had been chosen on one machine
// blocked for a fifth of a second on the next. So there is one way for all of them. The op of such a work
// does a part of it, as much as txn.left allows, and returns errMore; do then hands it to
// the committer again, behind those who wait. How much a part may be follows from the time
// that the part before took (nextRows). And a group ends, whatever waits, when it has taken
// groupTime (group.go).

// op is one step of a caller, or several. Its results are fields that apply fills and the
// caller reads when do has returned nil.
type op interface {
	// weight is about how many rows the step writes or keys it looks up.
	weight() int
	// apply carries the step out. The committer calls it, alone and holding
	// Store.mu. It must find every error before it changes anything: an error
	// goes to its caller, and the rest of the group is applied. With errMore it
	// has done a part, which will be durable, and is to be called again in a later group.
	apply(tx *txn) error
}

// errMore is no failure: more of the op is to be done, in another step.
var errMore = errors.New("there is more to do")

const (
	// stepTime is how long a part of a long work is to take.
	stepTime = 8 * time.Millisecond
	// firstRows, leastRows and mostRows bound the rows that a part looks at: the first, and all.
	firstRows, leastRows, mostRows = 512, 16, 2048
	// stepBytes bounds the bytes of these rows.
	stepBytes = 1 << 20
)

// budget is what one step may still look at: rows, leases, queues and crawls, also where there is little to find, and
// bytes.
type budget struct{ rows, bytes int }

func (b *budget) spent() bool { return b.rows <= 0 || b.bytes <= 0 }

// nextRows returns how many rows the next part may look at, if those of the last one took so long.
func nextRows(rows int, took time.Duration) int {
	if took > stepTime {
		return max(leastRows, int(int64(rows)*int64(stepTime)/int64(took)))
	}
	if took < stepTime/2 {
		rows *= 2
	}
	return min(rows, mostRows)
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
	rows  int           // of the budget of the step
	took  time.Duration // by the step alone
	done  chan struct{} // gets the one answer: the step was carried out, or err says why not
}

const (
	waiting int32 = iota
	accepted
	withdrawn
)

// do hands o to the committer, step by step, and waits until each is durable. Until the
// committer takes a step, the end of ctx withdraws it, and what comes after it. When do returns, what o has is the
// caller's, but for what the committer reads of a step that was withdrawn: its kind, weight and crawl.
func (s *Store) do(ctx context.Context, o op) error {
	for rows := firstRows; ; {
		took, err := s.step(ctx, o, rows)
		if err != errMore { //nolint:errorlint // nothing wraps it
			return err
		}
		rows = nextRows(rows, took)
	}
}

// step is do for one step, which may look at some rows. It returns how long the committer took.
func (s *Store) step(ctx context.Context, o op, rows int) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.admit(ctx, o); err != nil {
		return 0, err
	}
	r := s.requests.Get().(*request)
	r.op, r.rows = o, rows
	if err := s.enqueue(ctx, r); err != nil {
		return 0, err
	}
	if ctx.Done() == nil { // waiting for one channel costs half as much as for two
		<-r.done
		return s.answer(r)
	}
	select {
	case <-r.done:
		return s.answer(r)
	case <-s.stuck:
		return 0, s.failure() // r stays the committer's
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(waiting, withdrawn) {
		return 0, ctx.Err()
	}
	select {
	case <-r.done:
		return s.answer(r)
	case <-s.stuck:
		return 0, s.failure()
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
func (s *Store) answer(r *request) (took time.Duration, err error) {
	took, err = r.took, r.err
	r.op, r.err = nil, nil
	r.state.Store(waiting)
	s.requests.Put(r)
	return took, err
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
