package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// errDraining ends streams when the server does. Clients send again, on
// another connection, what has no ack.
var errDraining = status.Error(codes.Unavailable, "server is going down; send what has no ack again")

// linger is how long streams that only watch, such as health's, may stay after
// the last call that does something. They would never end by themselves, and are
// ended by Server.lingered. A connection whose client doesn't answer gRPC's ping holds
// a drain up for 5 s, no longer than Config.Drain.
const linger = 250 * time.Millisecond

// drain ends the server in order: health says so first, streams commit and
// answer what they have read and end, calls finish, and what is still there
// after Config.Drain is cut off.
func (s *Server) drain() {
	began := time.Now()
	s.drainOnce.Do(func() { close(s.draining) })
	s.health.Shutdown()
	s.log.Info("draining", "calls", s.calls.now.Load())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(ended)
	}()
	if s.httpL != nil {
		if err := s.http.Shutdown(ctx); err != nil {
			s.log.Warn("HTTP requests were cut off", "error", err)
			_ = s.http.Close() // what Shutdown could not end
			s.awaitHandlers()
		}
	}
	if !s.workEnds(ctx, ended) {
		s.log.Warn("gRPC connections were cut off", "calls", s.calls.now.Load())
	}
	s.grpc.Stop()
	<-ended
	s.log.Info("drained", "took", time.Since(began))
}

// awaitHandlers waits until no handler of an HTTP request runs: their connections are closed, but
// they may still use what the caller closes after Serve.
func (s *Server) awaitHandlers() {
	ended := s.handlers.zero()
	slow := time.AfterFunc(time.Second, func() { s.log.Warn("waiting for handlers of HTTP requests that were cut off") })
	defer slow.Stop()
	<-ended
}

// workEnds waits for the calls under way and for their answers, which are on
// their way when handlers return. It returns false if ctx ends first.
func (s *Server) workEnds(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-s.working.zero():
	case <-ctx.Done():
		return false
	}
	watchers := time.AfterFunc(linger, func() { close(s.lingered) })
	defer watchers.Stop()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// workUnary and workStream let drain wait for the calls that do something.
func (s *Server) workUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if isWork(info.FullMethod) {
		s.working.add(1)
		defer s.working.add(-1)
	}
	return next(ctx, req)
}

func (s *Server) workStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if !isWork(info.FullMethod) {
		return s.watch(srv, ss, next)
	}
	s.working.add(1)
	defer s.working.add(-1)
	return next(srv, ss)
}

// watch runs a call that only watches, until lingered at the latest.
func (s *Server) watch(srv any, ss grpc.ServerStream, next grpc.StreamHandler) error {
	ctx, cancel := withEnd(ss.Context(), s.lingered)
	defer cancel()
	return next(srv, &watchStream{ss, ctx})
}

// watchStream is a stream that ends with ctx, also for a handler that receives.
type watchStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (w *watchStream) Context() context.Context { return w.ctx }

// RecvMsg implements grpc.ServerStream. What is still receiving when ctx ends
// ends with the call.
func (w *watchStream) RecvMsg(m any) error {
	received := make(chan error, 1)
	go func() { received <- w.ServerStream.RecvMsg(m) }()
	select {
	case err := <-received:
		return err
	case <-w.ctx.Done():
		return errDraining
	}
}

func isWork(method string) bool {
	return strings.HasPrefix(method, "/"+frontierpb.URLFrontier_ServiceDesc.ServiceName+"/")
}

// tally counts calls; unlike a WaitGroup it may grow while somebody waits.
type tally struct {
	mu     sync.Mutex
	n      int
	waiter chan struct{} // closed at zero, nil while nobody waits
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n += n; t.n == 0 && t.waiter != nil {
		close(t.waiter)
		t.waiter = nil
	}
}

// zero returns a channel that is closed when the count is zero. One goroutine
// may ask.
func (t *tally) zero() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{})
	if t.n == 0 {
		close(c)
	} else {
		t.waiter = c
	}
	return c
}

// isDraining says whether the server is ending.
func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
