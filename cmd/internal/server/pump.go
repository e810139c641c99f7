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
func pump[T, A any](s *Server, ctx context.Context, src source[T], window, atOnce int, commit func([]T) A, send func(A) error) error {
	in := newInbox(src, window, s.inHand)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The reader may be in recv when the call returns; it ends with the call's
	// stream, and gives back what it bought by then.
	go func() {
		in.read(ctx)
		<-ctx.Done()
		in.close()
	}()
	if atOnce == 1 {
		return pumpOne(s, ctx, in, commit, send)
	}
	answers := make(chan chan A, atOnce-2) // one is being sent, one waits to go in
	var end error                          // set before answers is closed
	go func() {
		defer close(answers)
		end = pumpMany(s, ctx, in, commit, answers)
	}()
	for answer := range answers {
		if err := sendOne(answer, send); err != nil {
			cancel()
			for answer := range answers {
				<-answer // the commits under way belong to this call
			}
			return err
		}
	}
	return end
}

// sendOne sends an answer once it is there.
func sendOne[A any](answer <-chan A, send func(A) error) error {
	a, ok := <-answer
	if !ok {
		return errBroken
	}
	return send(a)
}

// errBroken ends a call whose commit panicked; the log has the panic.
var errBroken = status.Error(codes.Internal, "internal error, see the server's log")

// pumpOne commits one batch after the other.
func pumpOne[T, A any](s *Server, ctx context.Context, in *inbox[T], commit func([]T) A, send func(A) error) error {
	for {
		p, err := in.take(ctx, s.draining)
		if err != nil {
			return goodEnd(err)
		}
		if err := send(commitOne(p, commit)); err != nil {
			return err
		}
	}
}

// commitOne commits a batch. Even a commit that panics, which ends the call alone,
// gives back what the batch held; a client that is slow to read its answer doesn't
// keep that.
func commitOne[T, A any](p parcel[T], commit func([]T) A) A {
	defer p.done()
	return commit(p.messages)
}

// pumpMany begins a commit of each batch and hands on where its answer will
// be.
func pumpMany[T, A any](s *Server, ctx context.Context, in *inbox[T], commit func([]T) A, answers chan<- chan A) error {
	for {
		p, err := in.take(ctx, s.draining)
		if err != nil {
			return goodEnd(err)
		}
		answer := make(chan A, 1)
		go func() {
			var err error // is in the log
			defer s.recovered("commit", &err)
			defer close(answer)
			defer p.done()
			answer <- commit(p.messages)
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
