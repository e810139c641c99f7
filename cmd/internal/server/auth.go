package server

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// unaryAuth and streamAuth refuse calls whose token does not allow them,
// before the first message is read.
func (t *tokens) unaryAuth(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := t.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (t *tokens) streamAuth(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := t.check(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(srv, ss)
}

func (t *tokens) check(ctx context.Context, method string) error {
	header := ""
	if v := metadata.ValueFromIncomingContext(ctx, "authorization"); len(v) > 0 {
		header = v[0]
	}
	need := scopeOfCall(method)
	switch ok, known := t.allow(header, need); {
	case ok:
		return nil
	case known:
		return status.Errorf(codes.PermissionDenied, "cannot call %s; want a token of scope %s", method, need)
	default:
		return status.Errorf(codes.Unauthenticated, "cannot call %s; want a bearer token of scope %s", method, need)
	}
}

// guard is the same for HTTP.
func (t *tokens) guard(need Scope, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch ok, known := t.allow(r.Header.Get("Authorization"), need); {
		case ok:
			next(w, r)
		case known:
			writeError(w, http.StatusForbidden, "forbidden", "want a token of scope "+need.String())
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "unauthenticated", "want a bearer token of scope "+need.String())
		}
	}
}
