package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// metrics are what the daemon shows of itself: /metrics, the curves of the dashboard, and the last judgement.
type metrics struct {
	*service
	registry *prometheus.Registry
	history  history
	judge    judge
	backups  *backupMetrics
}

func newMetrics(s *service) *metrics {
	m := &metrics{service: s, registry: prometheus.NewRegistry(), judge: judge{sample: s.cfg.Captures, one: make(chan struct{}, 1)}}
	s.count = newCounters(m.registry)
	return m
}

// gauges are read from the store for each scrape. They are exact, and cost the same
// for every size of the store; those by crawl are bounded.
type gauges struct {
	s     *metrics
	descs map[string]*prometheus.Desc
}

var gaugeHelp = map[string]string{
	"firstseen_seen_keys":       "Keys in the seen-set.",
	"firstseen_held_urls":       "URLs queued or leased.",
	"firstseen_in_flight_urls":  "URLs leased: their leases have not expired.",
	"firstseen_completed_urls":  "URLs completed and not forgotten.",
	"firstseen_dropped_urls":    "URLs dropped and not forgotten: by a fetcher, after the last attempt, or by the daemon (see firstseen_urls_dropped_total).",
	"firstseen_queues":          "Queues with URLs: queued, leased, completed or dropped.",
	"firstseen_active_queues":   "Queues with URLs that are queued or leased.",
	"firstseen_disk_free_bytes": "Free space on the disk of the store, when it was last measured.",
	"firstseen_writes_refused":  "1 while writes are refused because the free space is below --min-free.",
	"firstseen_open_calls":      "Calls in flight, over gRPC and HTTP, without health checks.",
	"firstseen_captures":        "Fetches that are kept (--captures), to judge the rules.",
	"firstseen_captures_share":  "Share of the page groups whose fetches are kept: 1, then a half, a quarter … as --captures fills.",
	"firstseen_declared_rules":  "Rules in use that trusted hosts declared (trust_declared).",
	"firstseen_trap_templates":  "Path templates whose pages mostly have known content (--traps yield): their URLs come last.",
	"firstseen_captures_failed": "1 if the file of fetches could not be opened: no fetches are kept until a restart.",
}

func (s *metrics) registerGauges() {
	g := &gauges{s: s, descs: make(map[string]*prometheus.Desc)}
	for name, help := range gaugeHelp {
		g.descs[name] = prometheus.NewDesc(name, help, nil, nil)
	}
	s.registry.MustRegister(g, buildInfo(), newVerdicts(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.cfg.Store != nil {
		s.registry.MustRegister(newStoreGauges(s.cfg.Store))
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		ch <- d
	}
	ch <- crawlsGauge
	for _, d := range crawlGauges {
		ch <- d
	}
	ch <- urlsDropped
	ch <- capturesDropped
	ch <- capturesDamaged
	ch <- declaredRefused
	ch <- trapURLs
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	put := func(name string, v float64) {
		ch <- prometheus.MustNewConstMetric(g.descs[name], prometheus.GaugeValue, v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if st, err := g.s.f.own.Stats(ctx, "*"); err == nil {
		putStats(put, st)
	}
	g.collectCrawls(ctx, ch)
	put("firstseen_disk_free_bytes", float64(g.s.disk.last.Load()))
	put("firstseen_open_calls", float64(g.s.admission.calls.Held()))
	refused := 0.0
	if g.s.disk.full() {
		refused = 1
	}
	put("firstseen_writes_refused", refused)
	if st := g.s.declared(); st != nil {
		put("firstseen_declared_rules", float64(st.Rules))
		ch <- prometheus.MustNewConstMetric(declaredRefused, prometheus.CounterValue, float64(st.Refused))
	}
	if y := g.s.cfg.Yield; y != nil {
		put("firstseen_trap_templates", float64(y.Lowered()))
		ch <- prometheus.MustNewConstMetric(trapURLs, prometheus.CounterValue, float64(y.URLs()), yes(y.Shadow()))
	}
	failed := 0.0
	if g.s.cfg.CapturesError != nil {
		failed = 1
	}
	put("firstseen_captures_failed", failed)
	dropped := map[frontier.Reason]int64{frontier.ReasonExpired: 0, frontier.ReasonExcluded: 0}
	for r := range g.s.f.own.Refusals() {
		if r.Dropped {
			dropped[r.Reason] += r.Count
		}
	}
	for reason, n := range dropped {
		ch <- prometheus.MustNewConstMetric(urlsDropped, prometheus.CounterValue, float64(n), string(reason))
	}
	if g.s.judge.sample != nil {
		st := g.s.judge.sample.Stats()
		put("firstseen_captures", float64(st.Rows))
		put("firstseen_captures_share", st.Share)
		for desc, n := range map[*prometheus.Desc]int64{capturesDropped: st.Dropped, capturesDamaged: st.Damaged} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n))
		}
	}
}

var (
	urlsDropped     = prometheus.NewDesc("firstseen_urls_dropped_total", "URLs that the daemon dropped instead of leasing them, by reason: expired-leases or excluded.", []string{"reason"}, nil)
	capturesDropped = prometheus.NewDesc("firstseen_captures_dropped_total", "Fetches that were not kept, because the disk failed or was too slow.", nil, nil)
	declaredRefused = prometheus.NewDesc("firstseen_declared_refused_total", "Declarations of trusted hosts that were refused.", nil, nil)
	trapURLs        = prometheus.NewDesc("firstseen_trap_urls_total", "URLs of the templates in firstseen_trap_templates that were offered, or put back instead of leased: queued with the lowest priority, or only counted (shadow).", []string{"shadow"}, nil)
	capturesDamaged = prometheus.NewDesc("firstseen_captures_damaged_total", "Damaged lines in the file of fetches, which were left out.", nil, nil)
)

func putStats(put func(string, float64), st store.Stats) {
	put("firstseen_seen_keys", float64(st.Seen))
	put("firstseen_held_urls", float64(st.Held))
	put("firstseen_in_flight_urls", float64(st.InFlight))
	put("firstseen_completed_urls", float64(st.Completed))
	put("firstseen_dropped_urls", float64(st.Dropped))
	put("firstseen_queues", float64(st.Queues))
	put("firstseen_active_queues", float64(st.Active))
}
