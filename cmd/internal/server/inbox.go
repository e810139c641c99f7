package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/internal/async"
)

const (
	// windowBytes is about how many bytes of messages one call may have waiting.
	windowBytes = 2 << 20
	// slab is how many bytes a call takes from the common memory at once.
	slab = 64 << 10
)

// source is where the messages of a call come from.
type source[T any] struct {
	recv func() (T, error)
	// size is about what a message costs in memory, known before it is decoded, and the same after.
	size func(T) int
	// open decodes a message, whose size is paid for by then.
	open func(T) error
}

// inbox hands messages from the goroutine that reads a stream to the one that
// commits them. Whatever arrived while a commit was under way is the next
// batch: under load batches grow by themselves, and a lone message never
// waits. A full inbox stops the reading, and so, by flow control, the client.
type inbox[T any] struct {
	source source[T]
	memory holding             // empty; messages are paid for as it is
	credit atomic.Int64        // bytes that were taken, and spent for no message yet
	bytes  *semaphore.Weighted // what waiting messages may cost
	// waiting has room for as many messages as a batch may have, and is closed after the last, when err says why it was.
	waiting chan T
	err     error
	drained bool // of the goroutine that commits: nothing more is taken
}

// parcel is a batch with its share of memory.
type parcel[T any] struct {
	messages []T
	holding
}

func newInbox[T any](src source[T], window int, memory *holding) *inbox[T] {
	return &inbox[T]{source: src, memory: *memory, bytes: semaphore.NewWeighted(windowBytes), waiting: make(chan T, window)}
}

// read fills the inbox until its source fails or ctx ends.
func (in *inbox[T]) read(ctx context.Context) {
	defer close(in.waiting)
	for in.err == nil {
		var m T
		if m, in.err = in.source.recv(); in.err == nil {
			in.err = in.put(ctx, m)
		}
	}
}

// cost is what a message takes of the memory.
func (in *inbox[T]) cost(m T) int64 { return in.memory.pool.Most(int64(in.source.size(m))) }

// put pays for a message, decodes it, and puts it in when there is room.
func (in *inbox[T]) put(ctx context.Context, m T) error {
	cost := in.cost(m)
	err := in.bytes.Acquire(ctx, min(cost, windowBytes))
	for err == nil && !in.spend(cost) {
		more := in.memory
		err = more.take(ctx, max(cost, slab))
		in.credit.Add(more.n)
	}
	if err != nil {
		return err
	}
	if err = in.source.open(m); err == nil {
		select {
		case in.waiting <- m:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	in.credit.Add(cost)
	return err
}

// spend takes n bytes of the credit if there are so many.
func (in *inbox[T]) spend(n int64) bool {
	for {
		if has := in.credit.Load(); has < n {
			return false
		} else if in.credit.CompareAndSwap(has, has-n) {
			return true
		}
	}
}

// take blocks until messages wait and returns them. If none wait and the stream has ended,
// it returns the error of the end. Once stop is closed it returns those that wait then, and no more:
// a client that continues to send would keep the stream open. One that had finished by then still
// gets the end of its stream.
func (in *inbox[T]) take(ctx context.Context, stop <-chan struct{}) (p parcel[T], err error) {
	p.holding = in.memory
	if in.drained {
		select {
		case m, ok := <-in.waiting:
			if !ok {
				return p, in.err
			}
			p.n = in.cost(m) // it came too late
			p.done()
		default:
		}
		return p, errDraining
	}
	paid, end := int64(0), errDraining
	add := func(m T, ok bool) bool {
		if !ok {
			end = in.err
			return false
		}
		if p.messages == nil {
			p.messages = make([]T, 0, 1+len(in.waiting))
		}
		p.messages = append(p.messages, m)
		cost := in.cost(m)
		p.n += cost
		paid += min(cost, windowBytes)
		return len(p.messages) < cap(in.waiting)
	}
	if in.drained = async.Closed(stop); !in.drained {
		select {
		case m, ok := <-in.waiting:
			add(m, ok)
		case <-stop:
			in.drained = true
		case <-ctx.Done():
			return p, context.Cause(ctx)
		}
	}
	for more := len(p.messages) < cap(in.waiting); more; {
		select {
		case m, ok := <-in.waiting:
			more = add(m, ok)
		default:
			more = false
		}
	}
	in.bytes.Release(paid)
	p.n += in.credit.Swap(0) // a call that sends nothing more holds nothing
	if len(p.messages) == 0 {
		p.done()
		return p, end
	}
	return p, nil
}

// close frees the memory of messages that were not taken, once nothing more is read.
func (in *inbox[T]) close() {
	left := in.credit.Swap(0)
	for m := range in.waiting {
		left += in.cost(m)
	}
	in.memory.pool.Give(in.memory.client, left)
}

func wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withEnd is context.WithCancel, for a context that ends with end as well.
func withEnd(ctx context.Context, end <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_ = wait(ctx, end) // one or the other ends it
	}()
	return ctx, cancel
}

// pump runs a call: it reads a stream into an inbox, commits what arrives, and
// sends the answers in the order of the batches, until the stream ends or the
// server does. Up to atOnce batches are being committed or answered; a client that doesn't read
// its answers stops the commits, and so the reading.
func pump[T, A any](s *service, ctx context.Context, src source[T], window, atOnce int, commit func([]T) A, send func(A) error) (err error) {
	in := newInbox(src, window, s.inHand(ctx))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The reader may be in recv when the call returns; it ends with the call's
	// stream, and returns its memory by then.
	go func() {
		in.read(ctx)
		<-ctx.Done()
		in.close()
	}()
	slots := make(chan struct{}, atOnce)
	answers := make(chan chan answered[A], atOnce)
	var end error // set before answers is closed
	go func() {
		defer close(answers)
		for {
			slots <- struct{}{}
			p, err := in.take(ctx, s.draining)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					end = err
				}
				return
			}
			answer := make(chan answered[A], 1)
			answers <- answer
			if run := func() { commitTo(s, answer, &p, commit) }; atOnce == 1 {
				run()
			} else {
				go run()
			}
		}
	}()
	for answer := range answers { // all of them: the commits under way belong to this call
		a, ok := <-answer
		switch {
		case err != nil:
		case !ok:
			err = errBroken
		default:
			err = send(a.answer)
		}
		a.done()
		if err != nil {
			cancel()
		}
		<-slots
	}
	return cmp.Or(err, end)
}

// answered is the answer to a batch, and the memory it holds until it is sent.
type answered[A any] struct {
	answer A
	holding
}

// errBroken ends a call whose commit panicked; the log has the panic.
var errBroken = status.Error(codes.Internal, "internal error, see the server's log")

// commitTo commits a batch. It releases what the batch held, except the memory of the
// answer, even if commit panics; then there is no answer, and the panic ends this call alone.
func commitTo[T, A any](s *service, answer chan<- answered[A], p *parcel[T], commit func([]T) A) {
	var err error // is in the log
	defer s.recovered("commit", &err)
	defer close(answer)
	defer p.done()
	a := answered[A]{answer: commit(p.messages), holding: p.holding}
	p.messages, p.n = nil, 0
	if sized, ok := any(a.answer).(interface{ size() int64 }); ok {
		a.keep(sized.size())
	} else {
		a.keep(0)
	}
	answer <- a
}
