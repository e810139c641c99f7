package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// codeOf says whose doing an error is, in gRPC's terms.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	for _, c := range []struct {
		is   error
		code codes.Code
	}{
		{store.ErrNotFound, codes.NotFound},
		{store.ErrInvalid, codes.InvalidArgument},
		{canon.ErrURL, codes.InvalidArgument},
		{canon.ErrScheme, codes.InvalidArgument},
		{canon.ErrTooLong, codes.InvalidArgument},
		{frontier.ErrStale, codes.FailedPrecondition},
		{store.ErrIdentity, codes.FailedPrecondition},
		{store.ErrClosed, codes.Unavailable},
		{store.ErrFailed, codes.Unavailable},
		{store.ErrUnavailable, codes.Unavailable},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	return codes.Internal
}

// fault returns an error of the frontier as a status, and logs it unless the client
// caused it.
func (s *service) fault(what string, err error) error {
	code := codeOf(err)
	if code == codes.Internal || code == codes.Unavailable {
		s.log.Error("cannot "+what, "error", err)
		s.store.noticed(err)
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(code, err.Error())
}
