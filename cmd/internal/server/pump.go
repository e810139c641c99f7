package server

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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

// commitOne commits a batch. What the batch held is given back but for the memory of the
// answer, also by a commit that panics, which ends the call alone.
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
