package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// tap admits a call when its headers were read. It refuses none itself: gRPC would keep what
// it has of a call that is refused here until the call's deadline. serveCall refuses it.
func (s *grpcAPI) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, _ := peer.FromContext(ctx)
	wire := p.AuthInfo.(wireInfo).wire // of wireCredentials
	c := &call{method: info.FullMethodName, need: scopeOfCall(info.FullMethodName), cut: wire.Abort}
	ctx, cancel := context.WithCancelCause(ctx)
	c.end = func(err error) {
		if handler := c.handler.Load(); handler != nil {
			(*handler)(err)
			time.AfterFunc(endGrace, func() { cancel(err) })
			return
		}
		cancel(err)
	}
	err := s.identify(c, header(info.Header), wire.Client())
	known := err == nil && c.need != Open
	if !known && !wire.IsKnown() {
		wire.Pause(s.admission.asking.Next(wire.Client(), 1)) // gRPC holds a lock here
	}
	switch {
	case err != nil:
		if wire.Failed() > strangeFailures && !wire.IsKnown() {
			wire.Abort()
		}
	case known:
		err = s.admission.enter(c, s.admission.calls)
	default:
		err = s.admission.enterOpen(c)
	}
	c.refused = err
	c.stream = wire.Opened(c.client, known, func() { s.admission.leave(c) })
	return context.WithValue(ctx, callKey{}, c), nil
}

func header(md metadata.MD) string {
	if v := md.Get("authorization"); len(v) > 0 {
		return v[0]
	}
	return ""
}

// endGrace is how long the handler of a call that was ended has to return, before it can
// send and receive no more: then gRPC would answer with an error of its own.
const endGrace = time.Second

// serveCall serves a call that was admitted, and refuses the others.
func (s *grpcAPI) serveCall(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	c := callOf(stream.Context())
	defer func() { c.done.Store(time.Now().UnixNano()) }()
	defer func() { s.countCall(c.method, err) }()
	if c.refused != nil {
		return c.refused
	}
	work := isWork(c.method)
	if work {
		s.working.add(1)
		defer s.working.add(-1)
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	c.handler.Store(&cancel)
	defer func() { // a call that was ended answers why
		if cause := context.Cause(ctx); err != nil && cause != nil && isStatus(cause) {
			err = cause
		}
	}()
	defer s.recovered(c.method, &err)
	return next(srv, &callStream{stream, ctx, c, c.stream, work})
}

func isStatus(err error) bool {
	_, ok := status.FromError(err)
	return ok
}

// callStream is the stream of a call. Its context ends when the call is ended.
type callStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
	wire *admit.Stream // of call, which others write to
	work bool          // see isWork
}

// Context implements grpc.ServerStream.
func (s *callStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. In a call that only watches, it returns when the
// context ends; the goroutine that still receives then ends with the call.
func (s *callStream) RecvMsg(m any) error {
	if s.work {
		return s.receive(m)
	}
	received := make(chan error, 1)
	go func() { received <- s.receive(m) }()
	select {
	case err := <-received:
		return err
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

func (s *callStream) receive(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.wire.Delivered()
	}
	return err
}

// SendMsg implements grpc.ServerStream.
func (s *callStream) SendMsg(m any) error {
	if s.call.sends() {
		defer s.call.sent()
	}
	return s.ServerStream.SendMsg(m)
}
