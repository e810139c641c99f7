package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// maxProbes bounds the open connections of Config.HealthAddr. A new one ends the oldest.
const maxProbes = 64

// healthRoutes are those that need no token and are never refused for load. They ask
// nothing of the store. Every client that reaches the port may call them.
func (s *httpAPI) healthRoutes() []route {
	return []route{
		{pattern: "GET /healthz", handler: s.getHealth, operation: operation{id: "health", summary: "The process is alive, and its store works.", answer: contents{"text/plain"}, is: "ok"}},
		{pattern: "GET /readyz", handler: s.getReady, operation: operation{id: "ready", summary: "The server takes work.", answer: contents{"text/plain"}, is: "ready"}},
	}
}

// newHealth makes the server of Config.HealthAddr, which has the health routes and
// nothing else, in the clear: a probe has no client certificate.
func (s *httpAPI) newHealth() *http.Server {
	mux := http.NewServeMux()
	for _, r := range s.healthRoutes() {
		mux.HandleFunc(r.pattern, s.handled(r.pattern, r.handler))
	}
	server := s.newHTTP()
	server.Handler = mux
	return server
}

func (s *Server) listenHealth(ctx context.Context) error {
	lc := net.ListenConfig{Control: admit.Control}
	l, err := lc.Listen(ctx, "tcp", s.cfg.HealthAddr)
	if err != nil {
		return fmt.Errorf("cannot listen on --health %s: %w", s.cfg.HealthAddr, err)
	}
	s.healthL = admit.Listen(l, admit.Connections{Max: maxProbes, WriteTimeout: s.patience})
	return nil
}

// serveHealth answers probes until the server has drained, so that they learn of it.
func (s *Server) serveHealth() error {
	if err := s.healthHTTP.Serve(s.healthL); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve health: %w", err)
	}
	return nil
}

// checkHealthAddress returns an error unless address is host:port. Every host is allowed: the
// answers reveal only whether the daemon works.
func checkHealthAddress(address string) error {
	if address == "" || address == "off" {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("cannot listen; got --health %q; want host:port: %w", address, err)
	}
	return nil
}

// getHealth answers a liveness probe: only a new process can open a store that failed.
func (s *httpAPI) getHealth(w http.ResponseWriter, _ *http.Request) {
	if s.store.failure() != nil {
		writeText(w, http.StatusServiceUnavailable, "store failed")
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// getReady answers whether the server takes work: not while it drains, nor while the store fails.
// On a full disk it stays ready, since reads work.
func (s *httpAPI) getReady(w http.ResponseWriter, _ *http.Request) {
	if s.store.failure() != nil {
		writeText(w, http.StatusServiceUnavailable, "store failed")
		return
	}
	if s.isDraining() {
		writeText(w, http.StatusServiceUnavailable, "draining")
		return
	}
	if err := s.store.lastLook(); err != nil {
		writeText(w, http.StatusServiceUnavailable, "store: "+codeOf(err).String())
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // a client that went away needs no answer
}
