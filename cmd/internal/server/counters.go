package server

import "github.com/prometheus/client_golang/prometheus"

// counters are what the server counts. /metrics and the dashboard read the
// same ones. The first group carries URLFrontier's names, so that its Grafana
// dashboard works; the second our own.
type counters struct {
	getCalls       prometheus.Counter
	getURLs        prometheus.Counter
	getLatency     prometheus.Summary
	putCalls       prometheus.Counter
	batchCalls     prometheus.Counter
	putURLs        prometheus.Counter
	putKind        *prometheus.CounterVec // discovered="true" or "false"
	putIgnored     prometheus.Counter
	putCompleted   prometheus.Counter
	discoveredURLs prometheus.Counter // putKind, resolved
	knownURLs      prometheus.Counter

	verdicts  *prometheus.CounterVec // verdict: new, duplicate, refused, failed
	fresh     prometheus.Counter
	duplicate prometheus.Counter
	refused   prometheus.Counter
	failed    prometheus.Counter
	reasons   *prometheus.CounterVec // reason
	settled   *prometheus.CounterVec // outcome: of outcomeLabels, stale, already-done

	metaDropped prometheus.Counter

	commit prometheus.Histogram
	batch  prometheus.Histogram
	lease  prometheus.Histogram
	calls  *prometheus.CounterVec // call, code

	httpRequests *prometheus.CounterVec   // method, path, code
	httpSeconds  *prometheus.HistogramVec // method, path

	unauthorized *prometheus.CounterVec // code
	stalled      prometheus.Counter
}

func newCounters(r prometheus.Registerer) *counters {
	c := &counters{
		getCalls:     counter(r, "frontier_getURLs_calls_total", "Calls of GetURLs and POST /v1/lease."),
		getURLs:      counter(r, "frontier_getURLs_total", "URLs leased."),
		putCalls:     counter(r, "frontier_putURLs_calls_total", "Streams of PutURLs."),
		batchCalls:   counter(r, "frontier_putDiscovered_calls_total", "Streams of PutDiscovered."),
		putURLs:      counter(r, "frontier_putURLs_total", "URLs received, discovered or known, by any call."),
		putIgnored:   counter(r, "frontier_putURLs_ignored_total", "Discovered URLs that were duplicates."),
		putCompleted: counter(r, "frontier_putURLs_completed_total", "URLs completed."),
		putKind:      vector(r, "frontier_putURLs_discovered_total", "URLs received, by whether they were discovered (true) or known (false).", "discovered"),

		verdicts:    vector(r, "firstseen_urls_offered_total", "URLs offered, by verdict: new, duplicate, refused or failed.", "verdict"),
		reasons:     vector(r, "firstseen_urls_refused_total", "URLs refused, by reason.", "reason"),
		settled:     vector(r, "firstseen_urls_settled_total", "Leases settled, by outcome: done, redirected, recrawl, retry, deferred, released, dropped, extended, stale or already-done.", "outcome"),
		metaDropped: counter(r, "firstseen_metadata_dropped_total", "Known URLs that were stored without their metadata, because it was too large."),

		calls:        vector(r, "firstseen_calls_total", "Calls that ended, by name and status code.", "call", "code"),
		unauthorized: vector(r, "firstseen_auth_failures_total", "Calls refused because of their token, by code: Unauthenticated or PermissionDenied.", "code"),
		stalled:      counter(r, "firstseen_calls_stalled_total", "Calls that were ended because the client did not read the answers."),

		commit: histogram(r, "firstseen_commit_seconds", "Seconds from the start of a batch until it is durable.",
			prometheus.ExponentialBuckets(0.0001, 2, 16)),
		batch: histogram(r, "firstseen_batch_urls", "URLs of a batch, which share a commit.", prometheus.ExponentialBuckets(1, 2, 13)),
		lease: histogram(r, "firstseen_lease_seconds", "Seconds of a call of GetURLs, or of POST /v1/lease without wait_seconds.", prometheus.ExponentialBuckets(0.0001, 2, 16)),
	}
	c.newHTTPCounters(r)
	c.getLatency = prometheus.NewSummary(prometheus.SummaryOpts{Name: "frontier_getURLs_latency_seconds", Help: "Seconds of a call of GetURLs."})
	r.MustRegister(c.getLatency)
	c.discoveredURLs, c.knownURLs = c.putKind.WithLabelValues("true"), c.putKind.WithLabelValues("false")
	c.fresh, c.duplicate = c.verdicts.WithLabelValues("new"), c.verdicts.WithLabelValues("duplicate")
	c.refused, c.failed = c.verdicts.WithLabelValues("refused"), c.verdicts.WithLabelValues("failed")
	return c
}

func counter(r prometheus.Registerer, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return c
}

func vector(r prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func histogram(r prometheus.Registerer, name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	r.MustRegister(h)
	return h
}
