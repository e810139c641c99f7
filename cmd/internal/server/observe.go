package server

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// observed counts the requests of a route by status, and how long they took. Labels are
// patterns of routes, so that a client cannot make any up.
func (s *httpAPI) observed(pattern string, next http.HandlerFunc) http.HandlerFunc {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = "", pattern
	}
	seconds := s.count.httpSeconds.WithLabelValues(method, path)
	return func(w http.ResponseWriter, r *http.Request) {
		answer := &statusWriter{ResponseWriter: w}
		began := time.Now()
		defer func() { // also after a panic, which ends the connection
			seconds.Observe(time.Since(began).Seconds())
			s.count.httpRequests.WithLabelValues(method, path, answer.label()).Inc()
		}()
		next(answer, r)
	}
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int // 0 before the answer begins
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 { // others announce an answer
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// label is the status, or "none" for a request without an answer: its client left, or the
// daemon ended the connection.
func (w *statusWriter) label() string {
	if w.status == 0 {
		return "none"
	}
	return strconv.Itoa(w.status)
}

// newHTTPCounters adds the metrics of observed.
func (c *counters) newHTTPCounters(r prometheus.Registerer) {
	c.httpRequests = vector(r, "firstseen_http_requests_total", "HTTP requests that ended, by route and status, path \"other\" for those without a route; \"none\" for those without an answer.", "method", "path", "code")
	c.httpSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "firstseen_http_seconds", Help: "Seconds of an HTTP request, with the wait for its client and, of POST /v1/lease, for a URL.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
	}, []string{"method", "path"})
	r.MustRegister(c.httpSeconds)
}

// buildInfo is 1, with the version of the program in its labels.
func buildInfo() prometheus.Collector {
	version, revision := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "firstseen_build_info", Help: "1, with the version of the daemon.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "go": runtime.Version()},
	}, func() float64 { return 1 })
}
