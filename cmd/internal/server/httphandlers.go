package server

import (
	"net/http"
	"runtime/debug"

	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/internal/async"
)

// handled counts a handler that runs, which drain waits for, and logs its panic: net/http would
// write it to a log for the noise of strangers. The connection is closed then, so that the
// client doesn't take half an answer for a whole one.
func (s *httpAPI) handled(pattern string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.handlers.add(1)
		defer s.handlers.add(-1)
		if conn, _ := r.Context().Value(connKey{}).(*admit.Conn); conn != nil && !conn.IsKnown() {
			if d := s.admission.asking.Next(conn.Client(), 1); d > 0 && async.Sleep(r.Context(), d) != nil {
				return // the client has left
			}
		}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v != http.ErrAbortHandler { // which a handler uses to end a connection
				s.log.Error("request panicked", "route", pattern, "panic", v, "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler)
		}()
		next(w, r)
	}
}
