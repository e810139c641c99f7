package server

import (
	"context"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callLimit bounds the calls of a kind under way in the whole server. Safe for
// concurrent use.
type callLimit struct {
	max int64
	now atomic.Int64
}

func (l *callLimit) enter() error {
	if l.now.Add(1) > l.max {
		l.now.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "cannot take another call; got %d under way; want fewer", l.max)
	}
	return nil
}

func (l *callLimit) leave() { l.now.Add(-1) }

// mostWatches bounds the streams that need no token, such as health's. They last,
// and must not take the places of others; what of them isn't a stream is over at
// once, and never refused, as /healthz isn't.
const mostWatches = 256

func (s *Server) limitUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if scopeOfCall(info.FullMethod) == Open {
		return next(ctx, req)
	}
	if err := s.calls.enter(); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	return next(ctx, req)
}

func (s *Server) limitStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	limit := s.calls
	if scopeOfCall(info.FullMethod) == Open {
		limit = s.watches
	}
	if err := limit.enter(); err != nil {
		return err
	}
	defer limit.leave()
	return next(srv, ss)
}

// recovery turns a panic of one call into an error of that call and a log
// entry: a daemon that leases for many must outlive a bug in a listing.
func (s *Server) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	defer s.recovered(info.FullMethod, &err)
	return next(ctx, req)
}

func (s *Server) recoverStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer s.recovered(info.FullMethod, &err)
	return next(srv, ss)
}

func (s *Server) recovered(method string, err *error) {
	if v := recover(); v != nil {
		s.log.Error("call panicked", "call", method, "panic", v, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error, see the server's log")
	}
}

// budget bounds the bytes that calls hold between reading and commit.
type budget struct {
	sem *semaphore.Weighted
	max int64
}

func newBudget(max int64) *budget { return &budget{semaphore.NewWeighted(max), max} }

// take waits until n bytes are free, or all of them if there are fewer, and
// returns how many it took. They are for give.
func (b *budget) take(ctx context.Context, n int64) (int64, error) {
	n = min(n, b.max)
	if err := b.sem.Acquire(ctx, n); err != nil {
		return 0, err
	}
	return n, nil
}

// share is what one message or body that costs n is charged: half of all at most.
// Who wanted all would wait for every slow client, and everybody else for it.
func (b *budget) share(n int64) int64 { return min(n, max(1, b.max/2)) }

// tryTake is take when that is possible at once.
func (b *budget) tryTake(n int64) bool { return b.sem.TryAcquire(n) }

func (b *budget) give(n int64) { b.sem.Release(n) }
