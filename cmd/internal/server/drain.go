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
// the last call that does something. They would never end by themselves.
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
		}
	}
	if !s.workEnds(ctx, ended) {
		s.log.Warn("gRPC calls were cut off", "calls", s.calls.now.Load())
	}
	s.grpc.Stop()
	<-ended
	s.log.Info("drained", "took", time.Since(began))
}

// workEnds waits for the calls under way, and returns false if ctx ends first.
func (s *Server) workEnds(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-s.working.zero():
	case <-ctx.Done():
		return false
	}
	select {
	case <-ended:
	case <-time.After(linger):
	}
	return true
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
	if isWork(info.FullMethod) {
		s.working.add(1)
		defer s.working.add(-1)
	}
	return next(srv, ss)
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
