package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/internal/async"
)

const (
	// windowBytes is about how many bytes of messages one call may have waiting.
	windowBytes = 2 << 20
	// slab is how many bytes a call takes from the common budget at once.
	slab = 64 << 10
)

// source is where the messages of a call come from.
type source[T any] struct {
	recv func() (T, error)
	// size is about what a message costs in memory, known before it is decoded.
	size func(T) int
	// open decodes a message, whose size is bought by then.
	open func(T) error
}

// inbox hands messages from the goroutine that reads a stream to the one that
// commits them. Whatever arrived while a commit was under way is the next
// batch: under load batches grow by themselves, and a lone message never
// waits. A full inbox stops the reading, and so, by flow control, the client.
type inbox[T any] struct {
	source source[T]
	window int    // maximum of messages waiting
	budget budget // bytes

	mu      sync.Mutex
	changed chan struct{} // has room for one; something was put or taken
	room    chan struct{}
	waiting parcel[T]
	credit  int64 // bought, and spent for no message yet
	err     error // the end of the stream, io.EOF for a good one
}

// parcel is a batch and its share of the budget.
type parcel[T any] struct {
	messages []T
	bytes    int64 // what the messages cost
	holding
}

func newInbox[T any](src source[T], window int, b budget) *inbox[T] {
	return &inbox[T]{source: src, window: window, budget: b, changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// read fills the inbox until its source fails.
func (in *inbox[T]) read(ctx context.Context) {
	for {
		m, err := in.source.recv()
		if err == nil {
			err = in.put(ctx, m)
		}
		if err != nil {
			in.end(err)
			return
		}
	}
}

func (in *inbox[T]) put(ctx context.Context, m T) error {
	for {
		lacks, err := in.place(m)
		switch {
		case err != nil || lacks == nothing:
			return err
		case lacks == credit:
			err = in.buy(ctx, max(in.cost(m), slab))
		case lacks == room:
			err = wait(ctx, in.room)
		}
		if err != nil {
			return err
		}
	}
}

// lack is why a message isn't in yet.
type lack int

const (
	nothing lack = iota
	room
	credit
)

// cost is what a message is charged.
func (in *inbox[T]) cost(m T) int64 { return in.budget.most(int64(in.source.size(m))) }

// place spends credit on a message, decodes it and puts it in, unless something
// lacks. The batch that waits may be taken during the decoding.
func (in *inbox[T]) place(m T) (lack, error) {
	n := in.cost(m)
	if lacks, err := in.spend(n); err != nil || lacks != nothing {
		return lacks, err
	}
	err := in.source.open(m)
	in.mu.Lock()
	defer in.mu.Unlock()
	if err = cmp.Or(err, in.err); err != nil {
		in.credit += n
		return nothing, err
	}
	in.add(m, n)
	return nothing, nil
}

// spend takes n bytes of the credit, unless something lacks. After the end
// nothing goes in.
func (in *inbox[T]) spend(n int64) (lack, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	w := &in.waiting
	switch {
	case in.err != nil:
		return nothing, in.err
	case len(w.messages) >= in.window || len(w.messages) > 0 && w.bytes+n > windowBytes:
		return room, nil
	case in.credit < n:
		return credit, nil
	}
	in.credit -= n
	return nothing, nil
}

func (in *inbox[T]) add(m T, n int64) {
	w := &in.waiting
	w.messages = append(w.messages, m)
	w.bytes += n
	if len(w.messages) == 1 {
		signal(in.changed)
	}
}

// buy adds n bytes of the common budget to the credit.
func (in *inbox[T]) buy(ctx context.Context, n int64) error {
	n, err := in.budget.take(ctx, n)
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.credit += n
	return nil
}

// end lets nothing more in. The first end counts.
func (in *inbox[T]) end(err error) {
	in.mu.Lock()
	if in.err == nil {
		in.err = err
	}
	in.mu.Unlock()
	signal(in.changed)
}

// take blocks until messages wait and returns them. If none wait and the stream has ended,
// it returns the error of the end. Once stop is closed the inbox accepts no more messages:
// a client that continues to send would keep the stream open.
func (in *inbox[T]) take(ctx context.Context, stop <-chan struct{}) (parcel[T], error) {
	for {
		if async.Closed(stop) {
			in.end(errDraining)
		}
		if p, err := in.grab(); err != nil || len(p.messages) > 0 {
			return p, err
		}
		select {
		case <-in.changed:
		case <-stop:
		case <-ctx.Done():
			return parcel[T]{}, context.Cause(ctx)
		}
	}
}

func (in *inbox[T]) grab() (parcel[T], error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := in.waiting
	if len(p.messages) == 0 {
		return parcel[T]{}, in.err
	}
	p.holding = holding{in.budget, p.bytes + in.credit} // a call that sends nothing more holds nothing
	in.credit = 0
	in.waiting = parcel[T]{messages: make([]T, 0, min(2*len(p.messages), in.window))}
	signal(in.room)
	return p, nil
}

// close frees the memory of messages that were not taken.
func (in *inbox[T]) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.budget.give(in.waiting.bytes + in.credit)
	in.waiting, in.credit = parcel[T]{}, 0
}

// signal leaves a note in a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
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
// server does. Up to atOnce commits are under way; a client that doesn't read
// its answers stops the commits, and so the reading.
func pump[T, A any](s *service, ctx context.Context, src source[T], window, atOnce int, commit func([]T) A, send func(A) error) error {
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
	if atOnce == 1 {
		return pumpOne(s, ctx, in, commit, send)
	}
	answers := make(chan chan answered[A], atOnce-2) // one is being sent, one waits to go in
	var end error                                    // set before answers is closed
	go func() {
		defer close(answers)
		end = pumpMany(s, ctx, in, commit, answers)
	}()
	for answer := range answers {
		if err := sendOne(answer, send); err != nil {
			cancel()
			for answer := range answers { // the commits under way belong to this call
				if a, ok := <-answer; ok {
					a.done()
				}
			}
			return err
		}
	}
	return end
}

// answered is the answer to a batch, and the memory it holds until it is sent.
type answered[A any] struct {
	answer A
	holding
}

// sendOne sends an answer once it is there.
func sendOne[A any](answer <-chan answered[A], send func(A) error) error {
	a, ok := <-answer
	if !ok {
		return errBroken
	}
	defer a.done()
	return send(a.answer)
}

// errBroken ends a call whose commit panicked; the log has the panic.
var errBroken = status.Error(codes.Internal, "internal error, see the server's log")

// pumpOne commits one batch after the other.
func pumpOne[T, A any](s *service, ctx context.Context, in *inbox[T], commit func([]T) A, send func(A) error) error {
	for {
		p, err := in.take(ctx, s.draining)
		if err != nil {
			return goodEnd(err)
		}
		a := commitOne(&p, commit)
		err = send(a.answer)
		a.done()
		if err != nil {
			return err
		}
	}
}

// commitOne commits a batch. It releases what the batch held, except the memory of the
// answer, even if commit panics; a panic ends this call alone.
func commitOne[T, A any](p *parcel[T], commit func([]T) A) (a answered[A]) {
	defer p.done()
	a.answer = commit(p.messages)
	p.messages = nil
	a.holding, p.n = p.holding, 0
	a.keep(sizeOfAnswer(a.answer))
	return a
}

// sizeOfAnswer returns about the bytes of an answer that knows them.
func sizeOfAnswer(a any) int64 {
	if sized, ok := a.(interface{ size() int64 }); ok {
		return sized.size()
	}
	return 0
}

// pumpMany begins a commit of each batch and hands on where its answer will
// be.
func pumpMany[T, A any](s *service, ctx context.Context, in *inbox[T], commit func([]T) A, answers chan<- chan answered[A]) error {
	for {
		p, err := in.take(ctx, s.draining)
		if err != nil {
			return goodEnd(err)
		}
		answer := make(chan answered[A], 1)
		go func() {
			var err error // is in the log
			defer s.recovered("commit", &err)
			defer close(answer)
			answer <- commitOne(&p, commit)
		}()
		answers <- answer
	}
}

// goodEnd is the status of a stream that ended with err.
func goodEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
