package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

type connKey struct{}

// withConn puts the listener's connection into the context of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// admitted serves requests that are admitted, and refuses the others.
func (s *httpAPI) admitted(r route) http.HandlerFunc {
	r.handler = s.withSteeringLog(r)
	handler := s.handled(r.pattern, withQuery(r))
	return func(w http.ResponseWriter, req *http.Request) {
		c, ctx, over := newHTTPCall(w, req, &r)
		defer over()
		conn, _ := ctx.Value(connKey{}).(*admit.Conn)
		var address admit.Client
		if conn != nil { // not so in tests of handlers
			address, c.cut = conn.Client(), conn.Abort
		}
		err := s.identify(c, req.Header.Get("Authorization"), address)
		switch {
		case err != nil:
		case r.need != Open:
			if conn != nil {
				conn.Known()
			}
			err = s.admission.enter(c, s.admission.calls)
		default:
			err = s.admission.enterOpen(c)
		}
		if err != nil {
			refuse(w, &r, err)
			return
		}
		defer s.admission.leave(c)
		b := s.inHand(ctx)
		held, err := b.take(ctx, r.holds)
		if err != nil {
			return // the client is gone, or its call was ended
		}
		defer b.give(held)
		answer := &callWriter{ResponseWriter: w, call: c, ctx: ctx, patience: s.patience}
		if r.work > 0 {
			inside, _, end, err := s.turn(ctx, r.work)
			if err != nil {
				return // the same
			}
			answer.endTurn = sync.OnceFunc(end)
			defer answer.endTurn()
			ctx = inside
		}
		handler(answer, req.WithContext(ctx))
	}
}

// newHTTPCall returns the call that a request is, and its context. over must be called
// before the handler returns: then nothing ends the call any more.
func newHTTPCall(w http.ResponseWriter, req *http.Request, r *route) (c *call, ctx context.Context, over func()) {
	rc := http.NewResponseController(w)
	c = &call{method: r.pattern, need: r.need, cut: func() {}}
	ctx, cancel := context.WithCancelCause(context.WithValue(req.Context(), callKey{}, c))
	var mu sync.Mutex
	ended := false
	c.end = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		cancel(err)
		_ = errors.Join(rc.SetReadDeadline(time.Now()), rc.SetWriteDeadline(time.Now())) // what waits ends
	}
	return c, ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		cancel(nil)
	}
}

// refuse answers a request that was not admitted.
func refuse(w http.ResponseWriter, r *route, err error) {
	switch status.Code(err) {
	case codes.Unauthenticated:
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusUnauthorized, "unauthenticated", status.Convert(err).Message())
	case codes.PermissionDenied:
		writeError(w, http.StatusForbidden, "forbidden", status.Convert(err).Message())
	default:
		writeError(w, http.StatusTooManyRequests, "busy", status.Convert(err).Message())
	}
}

// callWriter writes the answer of a call. A client that takes none of it for patience loses
// the call.
type callWriter struct {
	http.ResponseWriter
	call     *call
	ctx      context.Context
	patience time.Duration
	endTurn  func() // nil for a call without a turn
}

// answerPiece is what a client has patience to take.
const answerPiece = 64 << 10

// Unwrap is for http.ResponseController.
func (w *callWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *callWriter) Write(b []byte) (n int, err error) {
	for {
		m := 0
		if err = w.begin(); err == nil {
			m, err = w.ResponseWriter.Write(b[n:min(len(b), n+answerPiece)])
		}
		w.call.sent()
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}

// FlushError is for http.ResponseController.
func (w *callWriter) FlushError() error {
	defer w.call.sent()
	if err := w.begin(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// begin begins to send something.
func (w *callWriter) begin() error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	if w.endTurn != nil { // the client may take its time
		w.endTurn()
	}
	w.call.sends()
	err := http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	if errors.Is(err, http.ErrNotSupported) { // by what tests write to
		err = nil
	}
	return err
}
