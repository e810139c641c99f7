package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/firstseen/firstseen/cmd/internal/dashboard"
)

// newHTTP makes the HTTP server. Headers must come soon and are bounded;
// bodies are streamed, so that they have no time limit as a whole, and each
// line of them is bounded instead.
func (s *Server) newHTTP() *http.Server {
	return &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: s.cfg.HandshakeTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.Background() },
	}
}

// route is a part of the interface that openapi.json describes.
type route struct {
	pattern string
	need    Scope
	handler http.HandlerFunc
}

// described are the routes that openapi.json describes, but for health.
func (s *Server) described() []route {
	return []route{
		{"POST /v1/urls", Write, s.postURLs},
		{"POST /v1/seen", Write, s.postSeen},
		{"POST /v1/import", Write, s.postImport},
		{"POST /v1/lease", Write, s.postLease},
		{"POST /v1/done", Write, s.postDone},
		{"POST /v1/redirect", Write, s.postRedirect},
		{"POST /v1/queue", Write, s.postQueue},
		{"POST /v1/crawl", Admin, s.postCrawl},
		{"GET /v1/explain", Read, s.getExplain},
		{"GET /v1/stats", Read, s.getStats},
		{"GET /v1/history", Read, s.getHistory},
		{"GET /v1/queues", Read, s.getQueues},
		{"GET /v1/captures", Read, s.getCaptures},
		{"GET /v1/audit", Read, s.getAudit},
		{"POST /v1/audit", Write, s.postAudit},
		{"GET /metrics", Read, promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP},
	}
}

// healthRoutes are those that need no token and are never refused for load.
func (s *Server) healthRoutes() []route {
	return []route{
		{"GET /healthz", Open, s.getHealth},
		{"GET /readyz", Open, s.getReady},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range append(s.described(), route{"GET /openapi.json", Open, getOpenAPI}) {
		mux.HandleFunc(r.pattern, s.tokens.guard(r.need, s.limited(s.handled(r.pattern, r.handler))))
	}
	for _, r := range s.healthRoutes() {
		mux.HandleFunc(r.pattern, s.handled(r.pattern, r.handler))
	}
	mux.Handle("GET /{$}", dashboard.Handler())
	mux.Handle("GET /dashboard/", http.StripPrefix("/dashboard", dashboard.Handler()))
	return s.guardHost(http.NewCrossOriginProtection().Handler(mux))
}

// limited counts a request among the calls under way.
func (s *Server) limited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.calls.enter(); err != nil {
			writeError(w, http.StatusTooManyRequests, "busy", "too many calls under way")
			return
		}
		defer s.calls.leave()
		next(w, r)
	}
}

// getHealth answers a liveness probe: only a new process can open a store that failed.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) {
	if s.store.failure() != nil {
		writeText(w, http.StatusServiceUnavailable, "store failed")
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// getReady says whether the server takes work: not while it drains, nor while
// the store fails. A full disk leaves it ready, since reads work.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request) {
	if s.store.failure() != nil {
		writeText(w, http.StatusServiceUnavailable, "store failed")
		return
	}
	if s.isDraining() {
		writeText(w, http.StatusServiceUnavailable, "draining")
		return
	}
	if _, err := s.f.Stats(r.Context(), "*"); err != nil {
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

// faultBody is the body of every refusal.
type faultBody struct {
	Error faultDetail `json:"error"`
}

type faultDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, faultBody{faultDetail{code, message}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := encode(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lineTimeout)) // net/http lifts it for the next request
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that went away needs no answer
}

// encode is JSON and the end of its line, with the & of a URL as it is.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
