package server

import (
	"net/http"

	"github.com/firstseen/firstseen/internal/wire"
)

// healthRoutes are those that need no token and are never refused for load. They ask
// nothing of the store. Every client that reaches the port may call them.
func (s *httpAPI) healthRoutes() []route {
	return []route{
		{pattern: "GET /healthz", handler: s.getHealth, operation: operation{id: "health", summary: "The process is alive, and its store works.", answer: contents{"text/plain"}, is: "ok"}},
		{pattern: "GET /readyz", handler: s.getReady, operation: operation{id: "ready", summary: "The server takes work: all of it, or what is asked for.", query: wire.ReadyQuery{}, answer: contents{"text/plain"}, is: "ready"}},
	}
}

// newHealth makes the server of Config.HealthAddr, which has the health routes and
// nothing else, in the clear: a probe has no client certificate.
func (s *httpAPI) newHealth() *http.Server {
	mux := http.NewServeMux()
	for _, r := range s.healthRoutes() {
		mux.HandleFunc(r.pattern, s.handled(r.pattern, s.withQuery(r)))
	}
	server := s.newHTTP()
	server.Handler = mux
	return server
}

// getHealth answers a liveness probe: only a new process can open a store that failed.
func (s *httpAPI) getHealth(w http.ResponseWriter, _ *http.Request) {
	if s.store.failure() != nil {
		writeText(w, http.StatusServiceUnavailable, "store failed")
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// getReady answers whether the server takes work: not while it drains, nor while the store fails. Below --min-free
// writes, leases and results are refused, and reads work; a probe can ask for one of them alone. A pause is an
// operator's will, and no reason to send clients elsewhere.
func (s *httpAPI) getReady(w http.ResponseWriter, r *http.Request) {
	why := ""
	switch of := r.URL.Query().Get("for"); {
	case s.store.failure() != nil:
		why = "store failed"
	case s.isDraining():
		why = "draining"
	case s.store.lastLook() != nil:
		why = "store: " + codeOf(s.store.lastLook()).String()
	case s.disk.full() && of != "reads":
		why = "writes, leases and results are refused: less of the disk is free than --min-free; reads work"
	}
	if why != "" {
		writeText(w, http.StatusServiceUnavailable, why)
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // a client that went away needs no answer
}
