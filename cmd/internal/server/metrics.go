package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// gauges are read from the store for each scrape. They are exact, and cost the same
// for every size of the store.
type gauges struct {
	s     *Server
	descs map[string]*prometheus.Desc
}

var gaugeHelp = map[string]string{
	"firstseen_seen_keys":       "Keys seen and not forgotten.",
	"firstseen_held_urls":       "URLs queued or leased.",
	"firstseen_in_flight_urls":  "Leases that have not run out.",
	"firstseen_completed_urls":  "URLs completed.",
	"firstseen_dropped_urls":    "URLs dropped: given up by their fetchers, or after too many attempts.",
	"firstseen_queues":          "Queues that hold something, or have completed or dropped something.",
	"firstseen_active_queues":   "Queues that hold something.",
	"firstseen_disk_free_bytes": "Free space on the store's disk, at the last look.",
	"firstseen_writes_refused":  "1 while writes are refused because the disk is nearly full.",
	"firstseen_open_calls":      "Calls under way, over gRPC and HTTP, but for those of health.",
	"firstseen_captures":        "Fetches kept to judge the rules by.",
	"firstseen_captures_share":  "Share of all places whose fetches are kept.",
	"firstseen_declared_rules":  "Rules in use that trusted hosts declared.",
	"firstseen_trap_templates":  "Path templates whose fetches bring known content, as --traps yield counts them.",
	"firstseen_captures_failed": "1 if the fetches that were kept could not be opened, so that none are kept.",
}

func (s *Server) registerGauges() {
	g := &gauges{s: s, descs: make(map[string]*prometheus.Desc)}
	for name, help := range gaugeHelp {
		g.descs[name] = prometheus.NewDesc(name, help, nil, nil)
	}
	s.registry.MustRegister(g, newVerdicts(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.cfg.Store != nil {
		s.registry.MustRegister(newStoreGauges(s.cfg.Store))
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range g.descs {
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
	if st, err := g.s.f.Stats(ctx, "*"); err == nil {
		putStats(put, st)
	}
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
	for r := range g.s.f.Refusals() {
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
	urlsDropped     = prometheus.NewDesc("firstseen_urls_dropped_total", "URLs that had been taken and were dropped instead of handed out, by reason.", []string{"reason"}, nil)
	capturesDropped = prometheus.NewDesc("firstseen_captures_dropped_total", "Fetches that were not kept because the disk failed or was too slow.", nil, nil)
	declaredRefused = prometheus.NewDesc("firstseen_declared_refused_total", "Declarations of trusted hosts that could not be used.", nil, nil)
	trapURLs        = prometheus.NewDesc("firstseen_trap_urls_total", "URLs offered of such templates: queued with the lowest priority, or, in shadow mode, only counted.", []string{"shadow"}, nil)
	capturesDamaged = prometheus.NewDesc("firstseen_captures_damaged_total", "Damaged lines met in the file of fetches.", nil, nil)
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
