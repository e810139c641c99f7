package server

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errDraining ends streams when the server does. Clients send again, on
// another connection, what has no ack.
var errDraining = status.Error(codes.Unavailable, "server is going down; send what has no ack again")

// drain ends the server in order: health says so first, streams commit and
// answer what they have read and end, calls finish, and what is still there
// after Config.Drain is cut off.
func (s *Server) drain() {
	s.drainOnce.Do(func() { close(s.draining) })
	s.health.Shutdown()
	s.log.Info("draining", "calls", s.calls.now.Load())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer cancel()
	began := time.Now()
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
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.Warn("gRPC calls were cut off", "calls", s.calls.now.Load())
		s.grpc.Stop()
		<-ended
	}
	s.log.Info("drained", "took", time.Since(began))
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
