package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// identify sets the client of a call by its Authorization header, or by its address where
// no token is asked for. The error refuses the call.
func (s *gate) identify(c *call, header string, address admit.Client) error {
	c.client, c.from = address, address
	if s.tokens == nil || c.need == Open {
		return nil
	}
	digest, have := s.tokens.find(header)
	if have != nil {
		c.token, c.client = digest, admit.ByToken(digest)
	}
	var err error
	switch {
	case have != nil && have.may(c.method, c.need):
		return nil
	case have != nil && have.scope >= c.need:
		err = status.Errorf(codes.PermissionDenied, "cannot call %.200s with a token for some crawls; it concerns all", c.method)
	case have != nil:
		err = status.Errorf(codes.PermissionDenied, "cannot call %.200s; got a token of scope %s; want scope %s", c.method, have.scope, c.need)
	case header == "":
		err = status.Errorf(codes.Unauthenticated, "cannot call %.200s; got no token; want a bearer token of scope %s", c.method, c.need)
	default:
		err = status.Errorf(codes.Unauthenticated, "cannot call %.200s; got an unknown token; want a bearer token of scope %s", c.method, c.need)
	}
	s.count.unauthorized.WithLabelValues(status.Code(err).String()).Inc()
	s.failures.log(s.log, address, err)
	return err
}

// allows reports whether the token of a call allows what needs a scope.
func (s *service) allows(ctx context.Context, need Scope) bool {
	have, err := s.f.grant(ctx)
	return err == nil && have.scope >= need
}

// failureLog logs that tokens were refused, with the address alone: an address once a
// minute, and at most so many addresses. Safe for concurrent use; the zero value is ready.
type failureLog struct {
	mu     sync.Mutex
	began  time.Time
	logged map[admit.Client]bool
	more   int // failures that were not logged
}

const (
	failuresEvery = time.Minute
	mostFailures  = 16
)

func (f *failureLog) log(log *slog.Logger, from admit.Client, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.began) >= failuresEvery {
		if f.more > 0 {
			log.Warn("further calls were refused because of their tokens", "calls", f.more, "since", f.began)
		}
		f.began, f.logged, f.more = now, make(map[admit.Client]bool), 0
	}
	if f.logged[from] || len(f.logged) == mostFailures {
		f.more++
		return
	}
	f.logged[from] = true
	log.Warn("a call was refused because of its token", "address", from.Address(), "reason", fmt.Sprint(status.Code(err)))
}
