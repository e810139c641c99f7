package server

import (
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recovered turns a panic of one call into an error of that call and a log
// entry: a daemon that leases for many must outlive a bug in a listing.
func (s *Server) recovered(method string, err *error) {
	if v := recover(); v != nil {
		s.log.Error("call panicked", "call", method, "panic", v, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error, see the server's log")
	}
}
