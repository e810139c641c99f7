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
	"github.com/firstseen/firstseen/internal/wire"
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
		ConnContext:       withConn,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: s.cfg.MaxStreams, MaxReceiveBufferPerStream: 64 << 10, WriteByteTimeout: s.patience},
	}
}

// route is a part of the interface that openapi.json describes.
type route struct {
	pattern string
	need    Scope
	holds   int64 // bytes that its answer may take, 0 where the handler counts
	work    int   // units of a turn around its handler, 0 where the handler has turns of its own
	handler http.HandlerFunc
}

// described are the routes that openapi.json describes, but for health.
func (s *Server) described() []route {
	return []route{
		{"POST /v1/urls", Write, 0, 0, s.postURLs},
		{"POST /v1/seen", Write, 0, 0, s.postSeen},
		{"POST /v1/import", Write, 0, 0, s.postImport},
		{"POST /v1/lease", Write, 0, 0, s.postLease},
		{"POST /v1/done", Write, 0, 0, s.postDone},
		{"POST /v1/redirect", Write, 0, 0, s.postRedirect},
		{"POST /v1/queue", Write, 0, 0, s.postQueue},
		{"POST /v1/pause", Admin, 0, 0, s.postPause},
		{"POST /v1/forget", Admin, 0, 0, s.postForget},
		{"POST /v1/crawl", Admin, 0, 0, s.postCrawl},
		{"POST /v1/traps", Admin, 0, 0, s.postTraps},
		{"GET /v1/traps", Read, 1 << 20, callUnits, s.getTraps},
		{"POST /v1/backup", Admin, 0, 0, s.postBackup},
		{"GET /v1/export", Admin, 2 << 20, callUnits, s.getExport},
		{"GET /v1/backup", Read, 1 << 20, callUnits, s.getBackup},
		{"GET /v1/explain", Read, 256 << 10, callUnits, s.getExplain},
		{"GET /v1/stats", Read, 256 << 10, callUnits, s.getStats},
		{"GET /v1/history", Read, 256 << 10, callUnits, s.getHistory},
		{"GET /v1/queues", Read, 4 << 20, callUnits, s.getQueues},
		{"GET /v1/captures", Read, 64 << 10, callUnits, s.getCaptures},
		{"GET /v1/audit", Read, 1 << 20, 0, s.getAudit},
		{"POST /v1/audit", Write, 1 << 20, 0, s.postAudit},
		{"GET /metrics", Read, 256 << 10, callUnits, promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP},
	}
}

// pages are the routes that anybody may read.
func pages() []route {
	return []route{
		{"GET /openapi.json", Open, 0, 0, getOpenAPI},
		{"GET /{$}", Open, 0, 0, dashboard.Handler().ServeHTTP},
		{"GET /dashboard/", Open, 0, 0, http.StripPrefix("/dashboard", dashboard.Handler()).ServeHTTP},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	all := append(s.described(), pages()...)
	for _, r := range all {
		mux.HandleFunc(r.pattern, s.observed(r.pattern, s.admitted(r)))
	}
	for _, r := range s.healthRoutes() {
		mux.HandleFunc(r.pattern, s.observed(r.pattern, s.handled(r.pattern, r.handler)))
	}
	s.refuseOthers(mux, append(all, s.healthRoutes()...))
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusForbidden, "cross-origin", "cannot take a request from a page of another site; use the daemon's own pages, or a program that is no browser")
	}))
	return s.guardHost(protection.Handler(mux))
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, wire.Error{Error: wire.Fault{Code: code, Message: message}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := encode(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
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
