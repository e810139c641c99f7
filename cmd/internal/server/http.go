package server

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/firstseen/firstseen/internal/wire"
)

// httpAPI is the HTTP interface.
type httpAPI struct {
	*metrics
	tls       bool
	exporting chan struct{} // has room for one export
	handlers  atomic.Int64  // of requests, that run
	shapes    sync.Map      // of the types that requests have
}

func newHTTPAPI(m *metrics, tls bool) *httpAPI {
	return &httpAPI{metrics: m, tls: tls, exporting: make(chan struct{}, 1)}
}

// newHTTP makes the HTTP server. Headers must come soon and are bounded;
// bodies are streamed, so that they have no time limit as a whole, and each
// line of them is bounded instead.
func (s *httpAPI) newHTTP() *http.Server {
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

// route is a part of the interface: how it is served, and what openapi.json says of it.
type route struct {
	pattern string
	need    Scope
	rate    rateKind
	holds   int64 // bytes that its answer may take, 0 where the handler counts
	work    int   // units of a turn around its handler, 0 where the handler has turns of its own
	handler http.HandlerFunc
	operation
}

// operation describes a route in openapi.json, which "go generate" makes of all of them.
type operation struct {
	id, summary, more string
	query             any    // a struct whose fields have the tag query
	body, answer      any    // a value of the type of the JSON, or contents
	counted           any    // the answer if the query asks for a count
	is                string // what the answer is
	missing, conflict string // what 404 and 409 mean, where they are answered
	header, headerIs  string // of the answer
}

// contents is a body or an answer of another kind than JSON: its content types.
type contents []string

var jsonLines, anyLines = contents{"application/x-ndjson"}, contents{"application/x-ndjson", "text/plain"}

//go:generate go test -run Fresh$ . -args -generate

// described are the routes that openapi.json describes, but for health.
func (s *httpAPI) described() []route {
	const (
		lines                          = "Each line of the body is a URLLine, or in text/plain that or a URL as it stands; each of the answer is a VerdictLine. Lines are committed together as they arrive. A line that cannot be read is refused, and those after it are answered all the same: code too-long for one longer than 272 KiB, code json for one that is not JSON, not UTF-8, or has half of a surrogate pair. A last answer with the verdict failed and the code body says that the body ended early."
		over                           = "The lease is over, or the crawl is of another kind."
		noYield, noCaptures, noBackups = "The daemon does not look for traps by yield.", "This daemon keeps no captures.", "The daemon has no directory for backups"
	)
	return []route{
		{"POST /v1/urls", Write, addRate, 0, 0, s.postURLs, operation{id: "putURLs", summary: "Offer URLs, one a line; each gets a line, in order.", more: lines,
			query: wire.OfferQuery{}, body: anyLines, answer: jsonLines, is: "A VerdictLine for each line."}},
		{"POST /v1/seen", Write, addRate, 0, 0, s.postSeen, operation{id: "seeURLs", summary: "Record URLs as seen without queueing them, one a line; each gets a line, in order.", more: lines,
			query: wire.OfferQuery{}, body: anyLines, answer: jsonLines, is: "A VerdictLine for each line."}},
		{"POST /v1/import", Write, addRate, 0, 0, s.postImport, operation{id: "import", summary: "Put what URLFrontier's DumpURLs wrote, or any URLItem in the JSON form of Protocol Buffers, one a line.",
			more: "Each line gets an ImportLine, in order. Known URLs keep their date, and completed ones stay completed. A line that cannot be read or is too long is SKIPPED, with an error.",
			body: anyLines, answer: jsonLines, is: "An ImportLine for each line."}},
		{"POST /v1/lease", Write, leaseRate, 0, 0, s.postLease, operation{id: "lease", summary: "Lease URLs that may be fetched now; waits for them if asked to.",
			body: wire.LeaseRequest{}, answer: wire.Leases{}, is: "The leases, maybe none."}},
		{"POST /v1/done", Write, noRate, 0, 0, posted(s, "settle", 0, s.postDone), operation{id: "done", summary: "Report the results of leases.",
			body: wire.Done{}, answer: wire.Answers{}, is: "An answer for each lease, in order.", conflict: over}},
		{"POST /v1/redirect", Write, addRate, 0, 0, posted(s, "redirect", 0, s.postRedirect), operation{id: "redirect", summary: "Report that a leased URL redirects. The answer says whether the target is the page itself, to be fetched now, or a link like any other.",
			body: wire.RedirectRequest{}, answer: wire.Redirection{}, is: "What to do.", missing: "The URL isn't known.", conflict: "The lease is over."}},
		{"POST /v1/queue", Write, noRate, 0, 0, posted(s, "change a queue", callUnits, s.postQueue), operation{id: "configureQueue", summary: "Delay, bound, limit, pause, block or weigh a queue, a crawl or all queues. All but the delay, bound and block of a queue needs scope admin.",
			body: wire.QueueSettings{}, answer: wire.Configured{}, is: "What was set before, and what is set now.", missing: "There is no such queue or crawl.", conflict: over}},
		{"POST /v1/pause", Admin, ofAll, 0, 0, posted(s, "pause", callUnits, s.postPause), operation{id: "pause", summary: "Pause or resume all queues of all crawls. Scope admin.",
			body: wire.Pause{}, answer: wire.Pause{}, is: "All queues are in this state, durably.", conflict: over}},
		{"POST /v1/forget", Admin, noRate, 0, 0, posted(s, "forget", 0, s.postForget), operation{id: "forget", summary: "Make URLs new again: some URLs, a queue, those first seen before a time, or a whole crawl. Leases on them end. Scope admin.",
			body: wire.ForgetRequest{}, answer: wire.Forgotten{}, is: "Done.", conflict: over}},
		{"GET /v1/urls", Read, noRate, 1 << 20, 0, s.getURLs, operation{id: "findURLs", summary: "List URLs whose text is kept, by state, reason, queue, time and rules, one JSON object a line, or count them.",
			more:  "The list has changes during the request in part. One that broke off is not whole.",
			query: wire.URLsQuery{}, answer: jsonLines, counted: wire.Changed{}, is: "A FoundURL for each; with count, a Changed, as application/json."}},
		{"POST /v1/change", Admin, noRate, 0, 0, posted(s, "change URLs", 0, s.postChange), operation{id: "changeURLs", summary: "Requeue, free, drop or forget the URLs that a selection names. Scope admin.",
			more: "It is done in small steps, beside other requests; the answer comes at the end. If the request ends early, some are done.",
			body: wire.ChangeRequest{}, answer: wire.Changed{}, is: "How many were changed.", conflict: over}},
		{"GET /v1/exclusions", Read, noRate, 4 << 20, callUnits, asked(s, "list exclusions", s.getExclusions), operation{id: "exclusions", summary: "The rules by which URLs are excluded, with what they did.",
			query: wire.ExclusionsQuery{}, answer: wire.Exclusions{}, is: "The rules of the crawl, and of all crawls."}},
		{"POST /v1/exclusions", Admin, noRate, 4 << 20, 0, posted(s, "change exclusions", 0, s.postExclusions), operation{id: "exclude", summary: "Exclude URLs from a crawl or from all, or take that back. Queued ones are forgotten. Scope admin.",
			body: wire.ExclusionRequest{}, answer: wire.Exclusions{}, is: "The rules in force.", missing: "A rule to be taken back isn't there."}},
		{"POST /v1/crawl", Admin, noRate, 0, 0, posted(s, "choose a profile", callUnits, s.postCrawl), operation{id: "chooseProfile", summary: "Choose how the keys of a crawl are made, before its first URL and permanently. Scope admin.",
			body: wire.CrawlProfile{}, answer: wire.CrawlProfile{}, is: "The crawl, and the profile it has.", conflict: "The crawl has URLs, or a profile of its own."}},
		{"POST /v1/traps", Admin, ofAll, 0, 0, posted(s, "lift a template", 0, s.postTraps), operation{id: "liftTrap", summary: "Keep a path template from being lowered, or end that. Until the daemon ends. Scope admin.",
			body: wire.LiftRequest{}, answer: wire.Trap{}, is: "The template as it is now.", missing: "No such template.", conflict: noYield}},
		{"GET /v1/traps", Read, ofAll, 1 << 20, callUnits, asked(s, "list templates", s.getTraps), operation{id: "traps", summary: "The path templates whose fetches bring known content, and those that an operator lifted.",
			answer: wire.Traps{}, is: "The templates, by name.", conflict: noYield}},
		{"POST /v1/declared", Admin, ofAll, 0, 0, posted(s, "revoke a declared rule", 0, s.postDeclared), operation{id: "revokeDeclared", summary: "Take a rule that a trusted host declared out of use, also if the host declares it again, or put it back. Scope admin.",
			body: wire.RevokeRequest{}, answer: wire.Declared{}, is: "What the host declared there, and what of it is revoked.", missing: "No such rule."}},
		{"GET /v1/declared", Read, ofAll, 8 << 20, callUnits, asked(s, "list declared rules", s.getDeclared), operation{id: "declared", summary: "The rules that trusted hosts declared (trust_declared).",
			answer: wire.Declarations{}, is: "The rules, by host and path."}},
		{"POST /v1/backup", Admin, ofAll, 0, 0, posted(s, "back up", 0, s.postBackup), operation{id: "backUp", summary: "Back up the store into the directory of --backup-dir. What was acknowledged before the request is in the backup. The answer comes when it is complete; the end of the request ends it. Scope admin.",
			body: wire.BackupRequest{}, answer: wire.Backup{}, is: "The backup, complete and on disk.", conflict: noBackups + ", another backup is being made, or there is one of that name."}},
		{"GET /v1/export", Admin, noRate, 2 << 20, callUnits, s.getExport, operation{id: "exportCrawl", summary: "Write a crawl as a crawl file: settings of its queues, URLs whose text is kept, and every key, for firstseen copy. Scope admin.",
			more:  "The file has changes during the export in part: pause for an exact one. One export is written at a time. An answer that broke off is not whole: the file ends with a count.",
			query: wire.ExportQuery{}, answer: contents{"application/octet-stream"}, is: "A crawl file or a key file.", missing: "There is no such crawl.", conflict: "Another export is being written.",
			header: ExportHeader, headerIs: "Which crawl it is, and how its keys are made: JSON, with percent escapes."}},
		{"GET /v1/backup", Read, ofAll, 1 << 20, callUnits, asked(s, "list backups", s.getBackup), operation{id: "backups", summary: "List the backups.",
			answer: wire.Backups{}, is: "The backups, the oldest first.", conflict: noBackups + "."}},
		{"GET /v1/explain", Read, noRate, 256 << 10, callUnits, asked(s, "look up", s.getExplain), operation{id: "explain", summary: "How a URL is read, by which rules, and what is known of it.",
			query: wire.ExplainQuery{}, answer: wire.Explanation{}, is: "The explanation; of a refused URL, why."}},
		{"GET /v1/stats", Read, noRate, 256 << 10, callUnits, asked(s, "count", s.getStats), operation{id: "stats", summary: "Exact counts, and the counters of /metrics.",
			query: wire.StatsQuery{}, answer: wire.Stats{}, is: "The counts."}},
		{"GET /v1/history", Read, ofAll, 256 << 10, callUnits, asked(s, "sample", s.getHistory), operation{id: "history", summary: "Samples of the last hour, oldest first, and one of now.",
			answer: wire.History{}, is: "The samples."}},
		{"GET /v1/queues", Read, noRate, 4 << 20, callUnits, asked(s, "list queues", s.getQueues), operation{id: "queues", summary: "Queues in order of name, or those with most waiting URLs first.",
			query: wire.QueuesQuery{}, answer: wire.Queues{}, is: "A page."}},
		{"GET /v1/captures", Read, ofAll, 64 << 10, callUnits, s.getCaptures, operation{id: "captures", summary: "The results of fetches that are kept, for audit and learn.",
			answer: contents{"text/x-cdxj"}, is: "CDXJ, a line for each fetch kept.", conflict: noCaptures}},
		{"GET /metrics", Read, ofAll, 256 << 10, callUnits, promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP, operation{id: "metrics", summary: "Prometheus metrics.",
			answer: contents{"text/plain"}, is: "Text format."}},
	}
}

// pages are the routes that anybody may read.
func pages() []route {
	return []route{
		{pattern: "GET /openapi.json", handler: getOpenAPI},
		{pattern: "GET /{$}", handler: dashboard().ServeHTTP},
		{pattern: "GET /dashboard/", handler: http.StripPrefix("/dashboard", dashboard()).ServeHTTP},
	}
}

func (s *httpAPI) routes() http.Handler {
	mux := http.NewServeMux()
	all := append(s.described(), pages()...)
	for _, r := range all {
		mux.HandleFunc(r.pattern, s.observed(r.pattern, s.admitted(r)))
	}
	for _, r := range s.healthRoutes() {
		mux.HandleFunc(r.pattern, s.observed(r.pattern, s.handled(r.pattern, s.withQuery(r))))
	}
	s.refuseOthers(mux, append(all, s.healthRoutes()...))
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusForbidden, "cross-origin", "cannot take a request from a page of another site; use the daemon's own pages, or a program that is no browser")
	}))
	return s.guardHost(protection.Handler(mux))
}

// retryAfter says for refusals that pass by themselves, or once an operator freed space, in how many seconds to send again.
var retryAfter = map[int]string{http.StatusTooManyRequests: "1", http.StatusServiceUnavailable: "5", http.StatusInsufficientStorage: "60"}

func writeError(w http.ResponseWriter, status int, code, message string) {
	if after := retryAfter[status]; after != "" {
		w.Header().Set("Retry-After", after)
	}
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
	err := lineEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func lineEncoder(out *bytes.Buffer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}

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
		why = diskLow + "; reads work"
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

//go:embed assets
var assets embed.FS

// policy lets the page load and call its own server and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The dashboard contains no data. It requests /v1/stats, which has the counters of /metrics, with the token that the
// user enters, and draws them in the browser. So it needs no build step, loads nothing from elsewhere, and agrees with
// the metrics.

// dashboard serves the page at / and its script and style beside it.
func dashboard() http.Handler {
	sub, err := fs.Sub(assets, "assets")
	if err != nil { // the directory is compiled in
		return http.NotFoundHandler()
	}
	files := http.FileServerFS(sub)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}
