package server

import (
	"context"
	"time"
)

// linger is how long streams that only watch, such as health's, may stay after
// the last call that does something. They would never end by themselves. A connection whose client doesn't answer gRPC's ping holds
// a drain up for 5 s, no longer than Config.Drain.
const linger = 250 * time.Millisecond

// drain ends the server in order. Health reports it first. Streams commit and
// answer the items they have read, and end. Other calls finish. Calls that remain
// after Config.Drain are cut off.
func (s *Server) drain() {
	began := time.Now()
	s.drainOnce.Do(func() { close(s.draining) })
	s.rpc.health.Shutdown()
	s.log.Info("draining", "calls", s.admission.calls.Held())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(ended)
	}()
	if s.httpL != nil {
		if err := s.http.Shutdown(ctx); err != nil {
			s.log.Warn("closed HTTP connections with unfinished requests", "error", err)
			_ = s.http.Close() // what Shutdown could not end
			s.endRequests()
			s.awaitHandlers()
		}
	}
	if !s.workEnds(ctx, ended) {
		s.log.Warn("closed gRPC connections with unfinished calls", "calls", s.admission.calls.Held())
	}
	s.grpc.Stop()
	<-ended
	s.log.Info("drained", "took", time.Since(began))
}

// awaitHandlers waits until no handler of an HTTP request runs: their connections are closed, but
// they may still use what the caller closes after Serve.
func (s *Server) awaitHandlers() {
	ended := s.web.handlers.zero()
	slow := time.AfterFunc(time.Second, func() { s.log.Warn("waiting for the handlers of HTTP requests whose connections were closed") })
	defer slow.Stop()
	<-ended
}

// workEnds waits for the calls under way and for their answers, which are on
// their way when handlers return. It returns false if ctx ends first.
func (s *Server) workEnds(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-s.rpc.working.zero():
	case <-ctx.Done():
		return false
	}
	watchers := time.AfterFunc(linger, s.endWatches)
	defer watchers.Stop()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// endRequests ends the HTTP requests that wait for something else than their connections,
// such as memory.
func (s *Server) endRequests() {
	for _, c := range s.admission.all() {
		if c.stream == nil {
			c.end(errDraining)
		}
	}
}

// endWatches ends the calls that only watch.
func (s *Server) endWatches() {
	for _, c := range s.admission.all() {
		if c.stream != nil && !isWork(c.method) {
			c.end(errDraining)
		}
	}
}
