package server

import (
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/backup"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
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
	"firstseen_fetched_pages":   "Pages fetched: each done and each recrawl, of queues that were not forgotten. Limits are of these.",
	"firstseen_failed_urls":     "URLs dropped after a failure: by a fetcher that could not get them, or by a bound.",
	"firstseen_marked_keys":     "Pages that were not found under two spellings: the next other spelling that is offered is queued.",
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
	dropped := map[frontier.Reason]int64{frontier.ReasonExpired: 0, frontier.ReasonExcluded: 0, frontier.ReasonAttempts: 0, frontier.ReasonDeferred: 0, frontier.ReasonReleased: 0}
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
	urlsDropped     = prometheus.NewDesc("firstseen_urls_dropped_total", "URLs that the daemon gave up, by reason: excluded, or a bound of --attempts, --max-deferred, --max-released or --max-expired (attempts, deferred, released, expired-leases).", []string{"reason"}, nil)
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
	put("firstseen_fetched_pages", float64(st.Fetched))
	put("firstseen_failed_urls", float64(st.Failed))
	put("firstseen_marked_keys", float64(st.Marked))
	put("firstseen_queues", float64(st.Queues))
	put("firstseen_active_queues", float64(st.Active))
}

// mostCrawls bounds the crawls that have gauges of their own: the first by name.
const mostCrawls = 50

var (
	crawlsGauge = prometheus.NewDesc("firstseen_crawls", "Crawls. The first 50 by name have gauges of their own (firstseen_crawl_seen_keys …).", nil, nil)
	crawlGauges = [...]*prometheus.Desc{
		prometheus.NewDesc("firstseen_crawl_seen_keys", "Keys in the seen-set, by crawl.", []string{"crawl"}, nil),
		prometheus.NewDesc("firstseen_crawl_held_urls", "URLs queued or leased, by crawl.", []string{"crawl"}, nil),
		prometheus.NewDesc("firstseen_crawl_in_flight_urls", "URLs leased, by crawl.", []string{"crawl"}, nil),
		prometheus.NewDesc("firstseen_crawl_completed_urls", "URLs completed and not forgotten, by crawl.", []string{"crawl"}, nil),
		prometheus.NewDesc("firstseen_crawl_dropped_urls", "URLs dropped and not forgotten, by crawl.", []string{"crawl"}, nil),
		prometheus.NewDesc("firstseen_crawl_fetched_pages", "Pages fetched, by crawl.", []string{"crawl"}, nil),
		prometheus.NewDesc("firstseen_crawl_failed_urls", "URLs dropped after a failure, by crawl.", []string{"crawl"}, nil),
	}
)

// collectCrawls adds the gauges by crawl, of a store on disk: each crawl of a store in Redis would
// ask all its shards. A crawl whose name is not UTF-8 has none, as labels must be.
func (g *gauges) collectCrawls(ctx context.Context, ch chan<- prometheus.Metric) {
	if g.s.cfg.Store == nil {
		return
	}
	crawls, err := g.s.f.own.Crawls(ctx)
	if err != nil {
		return
	}
	all := []prometheus.Metric{prometheus.MustNewConstMetric(crawlsGauge, prometheus.GaugeValue, float64(len(crawls)))}
	for _, crawl := range crawls[:min(len(crawls), mostCrawls)] {
		if !utf8.ValidString(crawl) {
			continue
		}
		st, err := g.s.f.own.Stats(ctx, crawl)
		if err != nil {
			return // none rather than some
		}
		for i, n := range [len(crawlGauges)]int64{st.Seen, st.Held, st.InFlight, st.Completed, st.Dropped, st.Fetched, st.Failed} {
			all = append(all, prometheus.MustNewConstMetric(crawlGauges[i], prometheus.GaugeValue, float64(n), crawl))
		}
	}
	for _, m := range all {
		ch <- m
	}
}

// storeGauge is one number of a store.
type storeGauge struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*pebblestore.Metrics) float64
}

// storeGauges are the metrics of a store on disk. Those of time show whether the disk
// and the processors keep up with the writes.
type storeGauges struct {
	store  StoreMetrics
	gauges []storeGauge
	busy   *prometheus.Desc
}

func newStoreGauges(s StoreMetrics) *storeGauges {
	g := &storeGauges{store: s, busy: prometheus.NewDesc("firstseen_store_commit_busy_seconds",
		"For how long a commit kept the next one waiting, without the sync and what paced_seconds_total counts.", nil, nil)}
	add := func(kind prometheus.ValueType, name, help string, of func(*pebblestore.Metrics) float64) {
		g.gauges = append(g.gauges, storeGauge{prometheus.NewDesc("firstseen_store_"+name, help, nil, nil), kind, of})
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "index_bytes", "Memory of the index of keys, in bytes.", func(m *pebblestore.Metrics) float64 { return float64(m.Index.Bytes) })
	add(gauge, "index_failed", "1 if damage of a run file or table was met since the start: keys in it are refused.", func(m *pebblestore.Metrics) float64 {
		if m.Index.Err != nil {
			return 1
		}
		return 0
	})
	add(gauge, "index_mapped_bytes", "Bytes of the run files, which are mapped: the page cache has as much of them as fits.", func(m *pebblestore.Metrics) float64 { return float64(m.Index.Mapped) })
	add(gauge, "disk_bytes", "Tables and log.", func(m *pebblestore.Metrics) float64 { return float64(m.DiskBytes) })
	add(gauge, "level0_tables", "Tables of level 0, not yet compacted; a rising number means that compactions lag.", func(m *pebblestore.Metrics) float64 { return float64(m.L0Tables) })
	add(gauge, "compactions", "Compactions in progress.", func(m *pebblestore.Metrics) float64 { return float64(m.Compacting) })
	add(counter, "paced_seconds_total", "Seconds for which writes were slowed down to the pace of compactions, or waited for a flush.", func(m *pebblestore.Metrics) float64 { return m.PaceTime.Seconds() })
	add(counter, "stopped_seconds_total", "Seconds for which writes were stopped until a flush or compaction ended.", func(m *pebblestore.Metrics) float64 { return m.StallTime.Seconds() })
	add(counter, "user_bytes_total", "Bytes that requests wrote to the log, before any amplification.", func(m *pebblestore.Metrics) float64 { return float64(m.UserBytes) })
	add(counter, "written_bytes_total", "Bytes that the log, flushes and compactions wrote.", func(m *pebblestore.Metrics) float64 { return float64(m.WrittenBytes) })
	add(counter, "cache_hits_total", "Blocks found in Pebble's block cache.", func(m *pebblestore.Metrics) float64 { return float64(m.CacheHits) })
	add(counter, "cache_misses_total", "Blocks not found in Pebble's block cache, and read from the disk or the page cache.", func(m *pebblestore.Metrics) float64 { return float64(m.CacheMisses) })
	return g
}

// Describe implements prometheus.Collector.
func (g *storeGauges) Describe(ch chan<- *prometheus.Desc) {
	for i := range g.gauges {
		ch <- g.gauges[i].desc
	}
	ch <- g.busy
}

// Collect implements prometheus.Collector. A store that failed has no numbers.
func (g *storeGauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	m, err := g.store.Metrics(ctx)
	if err != nil {
		return
	}
	for i := range g.gauges {
		ch <- prometheus.MustNewConstMetric(g.gauges[i].desc, g.gauges[i].kind, g.gauges[i].of(&m))
	}
	n, upTo := uint64(0), map[float64]uint64{}
	for i, bound := range pebblestore.BusyBounds {
		n += uint64(m.Busy.Counts[i])
		upTo[bound.Seconds()] = n
	}
	n += uint64(m.Busy.Counts[len(pebblestore.BusyBounds)])
	ch <- prometheus.MustNewConstHistogram(g.busy, n, m.Busy.Sum.Seconds(), upTo)
}

// verdicts are what the last judgement found of each rule. "different" of a rule that is on,
// with a stable control, is what an alert should stand on: the rule has begun to merge pages
// that are not the same.
type verdicts struct {
	s                     *metrics
	merges, stable, share *prometheus.Desc
}

func newVerdicts(s *metrics) *verdicts {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"rule", "on"}, labels...), nil)
	}
	return &verdicts{s: s,
		merges: desc("firstseen_rule_merges", "Pairs of fetched URLs that a rule merges, by outcome: same, redirect, different or volatile.", "outcome"),
		stable: desc("firstseen_rule_stable_pairs", "Contents of the pairs with a stable control (fetched again, the content was the same), by outcome.", "outcome"),
		share:  desc("firstseen_rule_precision", "Share of a rule's merges that are one page; absent if there are too few contents for a verdict."),
	}
}

// Describe implements prometheus.Collector.
func (v *verdicts) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{v.merges, v.stable, v.share} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (v *verdicts) Collect(ch chan<- prometheus.Metric) {
	j := v.s.judge.last.Load()
	if j == nil {
		return
	}
	on := v.s.rulesOn()
	for i := range j.Report.Forms {
		f := &j.Report.Forms[i]
		if f.Kind == audit.RuleSet || f.Kind == audit.OnlyHere {
			continue
		}
		put := func(d *prometheus.Desc, value float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{f.Name, yes(on[f.Name])}, labels...)...)
		}
		for _, o := range []audit.Outcome{audit.Same, audit.Redirect, audit.Different, audit.Volatile} {
			put(v.merges, float64(f.Outcomes[o]), o.String())
		}
		put(v.stable, float64(f.Held), "same")
		put(v.stable, float64(f.Stable-f.Held), "different")
		if f.Verdict != nil {
			put(v.share, f.Verdict.Share)
		}
	}
}

// rulesOn names the rules that the profile applies.
func (s *metrics) rulesOn() map[string]bool {
	on := make(map[string]bool)
	for _, r := range s.cfg.Profile().Rules() {
		on[string(r.Rule)] = true
	}
	return on
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// backupMetrics are the metrics of backups.
type backupMetrics struct {
	last, seconds, bytes prometheus.Gauge
	failed               prometheus.Counter
}

// registerBackups makes the metrics of backups. They are served if there is a directory for backups; the
// last backup may be of an earlier process.
func (s *metrics) registerBackups(ctx context.Context) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "firstseen_backup_" + name, Help: help})
	}
	m := &backupMetrics{
		last:    gauge("time_seconds", "Time at which the latest backup began, in seconds since 1970; 0 if there is none."),
		seconds: gauge("duration_seconds", "Seconds that the latest backup took."),
		bytes:   gauge("bytes", "Bytes of the latest backup, with the files that it shares with others."),
		failed:  prometheus.NewCounter(prometheus.CounterOpts{Name: "firstseen_backup_failures_total", Help: "Backups that failed."}),
	}
	if s.backups = m; s.cfg.Backups == nil {
		return
	}
	s.registry.MustRegister(m.last, m.seconds, m.bytes, m.failed)
	all, err := s.cfg.Backups.List()
	if err != nil {
		s.log.ErrorContext(ctx, "cannot list backups", "error", err)
	} else if len(all) > 0 {
		m.made(&all[len(all)-1])
	}
}

func (m *backupMetrics) made(b *backup.Info) {
	m.last.Set(float64(b.Created.UnixNano()) / float64(time.Second))
	m.seconds.Set(b.Seconds)
	m.bytes.Set(float64(b.Bytes))
}

// counterValues reads the counters that /metrics shows, by name and labels as
// they stand there. Histograms and summaries give their count and sum. They count all crawls, so
// that a token for some crawls gets none. Those of HTTP requests and of crawls are left out: there are many, and
// no page shows them.
func (s *metrics) counterValues(ctx context.Context) (map[string]float64, error) {
	if have, err := s.f.grant(ctx); err != nil || have.crawls != nil {
		return map[string]float64{}, err
	}
	families, err := s.registry.Gather()
	if err != nil {
		return nil, err
	}
	values := make(map[string]float64)
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "firstseen_http_") || strings.HasPrefix(name, "firstseen_crawl_") || !strings.HasPrefix(name, "firstseen_") && !strings.HasPrefix(name, "frontier_") {
			continue
		}
		for _, m := range f.GetMetric() {
			addValues(values, name, m)
		}
	}
	return values, nil
}

func addValues(values map[string]float64, name string, m *dto.Metric) {
	labels := labelText(m.GetLabel())
	switch {
	case m.GetHistogram() != nil:
		values[name+"_count"+labels] = float64(m.GetHistogram().GetSampleCount())
		values[name+"_sum"+labels] = m.GetHistogram().GetSampleSum()
	case m.GetSummary() != nil:
		values[name+"_count"+labels] = float64(m.GetSummary().GetSampleCount())
		values[name+"_sum"+labels] = m.GetSummary().GetSampleSum()
	case m.GetCounter() != nil:
		values[name+labels] = m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		values[name+labels] = m.GetGauge().GetValue()
	}
}

func labelText(pairs []*dto.LabelPair) string {
	if len(pairs) == 0 {
		return ""
	}
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p.GetName() + "=" + strconv.Quote(p.GetValue())
	}
	return "{" + strings.Join(texts, ",") + "}"
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
