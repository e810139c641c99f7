package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// mostLogged bounds what the log has of a request.
const mostLogged = 4 << 10

// logSteering logs who steered what, at any log level: the name of the token and the address,
// never the token.
func (s *service) logSteering(ctx context.Context, c *call, request, outcome string) {
	if s.local {
		return
	}
	name := everything.name
	if s.tokens != nil {
		name = "revoked" // while the call ran
		if have := s.tokens.of(c.token); have != nil {
			name = have.name
		}
	}
	if len(request) > mostLogged {
		request = request[:mostLogged] + "…"
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "steered", 0)
	r.Add("by", name, "address", c.from.Address(), "call", c.method, "request", request, "outcome", outcome)
	_ = s.log.Handler().Handle(ctx, r) // whatever the level; a failed log cannot be reported
}

// withSteeringLog logs the requests of a route that steer: all that need Admin, and those in
// which Admin was needed for a field. Calls that are refused because of their token are in
// failureLog.
func (s *httpAPI) withSteeringLog(r route) http.HandlerFunc {
	next := r.handler
	if r.need != Admin && r.pattern != "POST /v1/queue" {
		return next
	}
	return func(w http.ResponseWriter, req *http.Request) {
		c := callOf(req.Context())
		body := &firstBytes{ReadCloser: req.Body}
		req.Body = body
		answer := &statusWriter{ResponseWriter: w}
		defer func() {
			if r.need == Admin || c.steers {
				request := string(bytes.TrimSpace(body.kept))
				if req.URL.RawQuery != "" {
					request = req.URL.RawQuery
				}
				s.logSteering(req.Context(), c, request, answer.label())
			}
		}()
		next(answer, req)
	}
}

// firstBytes keeps the first bytes that are read.
type firstBytes struct {
	io.ReadCloser
	kept []byte
}

// Read implements io.Reader.
func (r *firstBytes) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.kept = append(r.kept, b[:min(n, mostLogged+1-len(r.kept))]...)
	return n, err
}

// logUnarySteering is withSteeringLog for a call over gRPC.
func (s *grpcAPI) logUnarySteering(ctx context.Context, req any, err error) {
	c := callOf(ctx)
	if c == nil || c.need != Admin {
		return
	}
	request := ""
	if m, ok := req.(proto.Message); ok {
		request = prototext.MarshalOptions{}.Format(m)
	}
	s.logSteering(ctx, c, request, status.Code(err).String())
}
