package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/internal/async"
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
	handler := s.handled(r.pattern, s.withQuery(r))
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
		held := s.inHand(ctx)
		if held.take(ctx, r.holds) != nil {
			return // the client is gone, or its call was ended
		}
		defer held.done()
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
	c = &call{method: r.pattern, access: access{r.need, r.rate}, cut: func() {}}
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
	// A client that closed its half of the connection, which cancels the context, may still read; if it is gone, writing fails.
	if err := context.Cause(w.ctx); err != nil && !errors.Is(err, context.Canceled) {
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

// handled counts a handler that runs, which drain waits for, and logs its panic: net/http would
// write it to a log for the noise of strangers. The connection is closed then, so that the
// client doesn't take half an answer for a whole one.
func (s *httpAPI) handled(pattern string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.handlers.Add(1)
		defer s.handlers.Add(-1)
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

// guardHost refuses requests by names that are not known to be this daemon's. A
// web page can point its own name at this daemon's address (DNS rebinding), and the
// browser then lets the page read the answers. Tokens stop such a page, and so does
// TLS, since no certificate has its name. Health is open to all.
func (s *httpAPI) guardHost(next http.Handler) http.Handler {
	if s.tokens != nil || s.tls {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isOwnHost(r.Host) && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			writeError(w, http.StatusForbidden, "host", fmt.Sprintf(
				"cannot serve the host name %.100q without tokens or TLS; use an IP address or localhost, or start the daemon with --http-host %.100s",
				r.Host, hostName(r.Host)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnHost reports whether a Host header is an IP address, localhost, or a name of
// Config.HTTPHosts. A page has no way to send one of the first two for its own name.
func (s *httpAPI) isOwnHost(header string) bool {
	host := hostName(header)
	return net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		slices.ContainsFunc(s.cfg.HTTPHosts, func(own string) bool { return hostName(own) == host })
}

// hostName returns the host of a Host header in lower case, without its port,
// brackets and final dot.
func hostName(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// checkHosts refuses names that no Host header can have.
func checkHosts(names []string) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "/:@ *") {
			return fmt.Errorf("cannot serve; got --http-host %q; want a host name without scheme, port and wildcard", name)
		}
	}
	return nil
}

// withQuery refuses query parameters that do not have the shape of the route's, before anything else. It also refuses
// unknown ones, like unknown fields of a body: a misspelled one would have no effect. Health, pages and /metrics take
// any of these, for probes and caches and as Prometheus is configured.
func (s *httpAPI) withQuery(r route) http.HandlerFunc {
	known, takesAny := []string{}, r.need == Open || r.pattern == "GET /metrics"
	want := &shape{}
	if r.query != nil {
		want = s.shapeOf(reflect.TypeOf(r.query))
		for _, f := range reflect.VisibleFields(reflect.TypeOf(r.query)) {
			known = append(known, f.Tag.Get("query"))
		}
	}
	return func(w http.ResponseWriter, req *http.Request) {
		if in := req.Header.Get("Content-Encoding"); in != "" && in != "identity" {
			writeError(w, http.StatusUnsupportedMediaType, "invalid", fmt.Sprintf("cannot read a body with Content-Encoding %.40q; send it as it is", in))
			return
		}
		q, err := url.ParseQuery(req.URL.RawQuery)
		if err != nil && !takesAny {
			writeError(w, http.StatusBadRequest, "invalid", fmt.Sprintf("cannot call %s; cannot read the query: %v", r.pattern, err))
			return
		}
		for _, name := range slices.Sorted(maps.Keys(q)) {
			if !takesAny && !slices.Contains(known, name) {
				want := cmp.Or(strings.Join(known, ", "), "none")
				writeError(w, http.StatusBadRequest, "invalid", fmt.Sprintf("cannot call %s; got the query parameter %.40q; want %s", r.pattern, name, want))
				return
			}
		}
		if err := want.checkQuery(q); err == nil {
			r.handler(w, req)
		} else if r.need == Open {
			writeText(w, http.StatusBadRequest, err.Error())
		} else {
			writeMisshapen(w, "cannot call "+r.pattern, err)
		}
	}
}

// refuseOthers makes a mux that has routes answer all other requests in JSON.
func (s *httpAPI) refuseOthers(mux *http.ServeMux, routes []route) {
	methods := map[string][]string{}
	for _, r := range routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, s.observed("other", s.handled(path, func(w http.ResponseWriter, r *http.Request) {
			slices.Sort(allowed)
			list := strings.Join(allowed, ", ")
			w.Header().Set("Allow", list)
			writeError(w, http.StatusMethodNotAllowed, "method", fmt.Sprintf("cannot call %.40q; got %.20s; want %s", r.URL.Path, r.Method, list))
		})))
	}
	mux.HandleFunc("/", s.observed("other", s.handled("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "path", fmt.Sprintf("cannot call %.40q; no such path; /openapi.json lists them", r.URL.Path))
	})))
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
