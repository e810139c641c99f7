package server

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/captures"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// metrics is the state behind /metrics and the curves of the dashboard.
type metrics struct {
	*service
	registry *prometheus.Registry
	history  history
	backups  *backupMetrics
}

func newMetrics(s *service) *metrics {
	m := &metrics{service: s, registry: prometheus.NewRegistry()}
	s.count = newCounters(m.registry)
	return m
}

const gaugeValue, counterValue = prometheus.GaugeValue, prometheus.CounterValue

// numbers is a collector that takes one reading per scrape, and reports nothing if the reading fails.
type numbers[T any] struct {
	read func(context.Context) (T, error)
	rows []number[T]
}

// number is a metric of a reading.
type number[T any] struct {
	desc *prometheus.Desc
	send func(*T, *prometheus.Desc, chan<- prometheus.Metric)
}

// one adds a metric without labels.
func (n *numbers[T]) one(kind prometheus.ValueType, name, help string, of func(*T) float64) {
	n.each(kind, name, help, nil, func(t *T, put func(float64, ...string)) { put(of(t)) })
}

// each adds a metric with labels. values calls put with each value and its labels.
func (n *numbers[T]) each(kind prometheus.ValueType, name, help string, labels []string, values func(t *T, put func(v float64, labels ...string))) {
	n.rows = append(n.rows, number[T]{prometheus.NewDesc("firstseen_"+name, help, labels, nil), func(t *T, d *prometheus.Desc, ch chan<- prometheus.Metric) {
		values(t, func(v float64, labels ...string) { ch <- prometheus.MustNewConstMetric(d, kind, v, labels...) })
	}})
}

// Describe implements prometheus.Collector.
func (n *numbers[T]) Describe(ch chan<- *prometheus.Desc) {
	for _, row := range n.rows {
		ch <- row.desc
	}
}

// Collect implements prometheus.Collector.
func (n *numbers[T]) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	t, err := n.read(ctx)
	if err != nil {
		return
	}
	for _, row := range n.rows {
		row.send(&t, row.desc, ch)
	}
}

// counts are the exact counts of a store, which cost the same for every size of it, and of a crawl.
var counts = []struct {
	name, help string
	byCrawl    string // help of the count of a crawl, "" for none
	of         func(*store.Stats) int64
}{
	{"seen_keys", "Keys in the seen-set.", "Keys in the seen-set, by crawl.", func(st *store.Stats) int64 { return st.Seen }},
	{"held_urls", "URLs queued or leased.", "URLs queued or leased, by crawl.", func(st *store.Stats) int64 { return st.Held }},
	{"in_flight_urls", "URLs leased: their leases have not expired.", "URLs leased, by crawl.", func(st *store.Stats) int64 { return st.InFlight }},
	{"completed_urls", "URLs completed, less those queued again or forgotten by key; forgetting by age does not lower it.",
		"URLs completed, less those queued again or forgotten by key, by crawl; forgetting by age does not lower it.", func(st *store.Stats) int64 { return st.Completed }},
	{"dropped_urls", "URLs dropped and not forgotten: by a fetcher, after the last attempt, or by the daemon (see firstseen_urls_dropped_total).",
		"URLs dropped and not forgotten, by crawl.", func(st *store.Stats) int64 { return st.Dropped }},
	{"fetched_pages", "Pages fetched: each done and each recrawl, of queues that were not forgotten. Limits are of these.",
		"Pages fetched, by crawl.", func(st *store.Stats) int64 { return st.Fetched }},
	{"failed_urls", "URLs dropped after a failure: by a fetcher that could not get them, or by a bound.",
		"URLs dropped after a failure, by crawl.", func(st *store.Stats) int64 { return st.Failed }},
	{"marked_keys", "Pages that were not found as they were spelled, nor in canonical form: the next other spelling that is offered is queued.",
		"", func(st *store.Stats) int64 { return st.Marked }},
	{"queues", "Queues with URLs: queued, leased, completed or dropped.", "", func(st *store.Stats) int64 { return st.Queues }},
	{"active_queues", "Queues with URLs that are queued or leased.", "", func(st *store.Stats) int64 { return st.Active }},
}

// mostCrawls bounds the crawls that have gauges of their own: the first by name.
const mostCrawls = 50

// crawlStats are the counts of crawls.
type crawlStats struct {
	all   int // crawls
	names []string
	of    []store.Stats // of some of them, by names
}

var errNoNumbers = errors.New("there is nothing to count")

// readCrawls counts the crawls of a store on disk: each crawl of a store in Redis would ask all its shards. A crawl whose name is
// not UTF-8 is left out, as labels must be.
func (s *metrics) readCrawls(ctx context.Context) (c crawlStats, err error) {
	if s.cfg.Store == nil {
		return c, errNoNumbers
	}
	crawls, err := s.f.own.Crawls(ctx)
	c.all = len(crawls)
	for _, crawl := range crawls[:min(len(crawls), mostCrawls)] {
		if err == nil && utf8.ValidString(crawl) {
			var st store.Stats
			st, err = s.f.own.Stats(ctx, crawl)
			c.names, c.of = append(c.names, crawl), append(c.of, st)
		}
	}
	return c, err
}

func (s *metrics) registerGauges() {
	stats := &numbers[store.Stats]{read: func(ctx context.Context) (store.Stats, error) { return s.f.own.Stats(ctx, "*") }}
	crawls := &numbers[crawlStats]{read: s.readCrawls}
	crawls.one(gaugeValue, "crawls", "Crawls. The first 50 by name have gauges of their own (firstseen_crawl_seen_keys …).", func(c *crawlStats) float64 { return float64(c.all) })
	for _, n := range counts {
		stats.one(gaugeValue, n.name, n.help, func(st *store.Stats) float64 { return float64(n.of(st)) })
		if n.byCrawl != "" {
			crawls.each(gaugeValue, "crawl_"+n.name, n.byCrawl, []string{"crawl"}, func(c *crawlStats, put func(float64, ...string)) {
				for i := range c.names {
					put(float64(n.of(&c.of[i])), c.names[i])
				}
			})
		}
	}
	s.registry.MustRegister(stats, crawls, s.daemonNumbers(), s.evidenceNumbers(), s.captureNumbers(),
		buildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.cfg.Store != nil {
		s.registry.MustRegister(newStoreGauges(s.cfg.Store))
	}
}

// daemonNumbers are those that cost nothing to read.
func (s *metrics) daemonNumbers() prometheus.Collector {
	n := &numbers[struct{}]{read: func(context.Context) (none struct{}, err error) { return none, nil }}
	gauge := func(name, help string, of func() float64) {
		n.one(gaugeValue, name, help, func(*struct{}) float64 { return of() })
	}
	gauge("disk_free_bytes", "Free space on the disk of the store, when it was last measured; 0 where it is not: with --min-free -1, on Redis and in memory.", func() float64 { return float64(s.disk.last.Load()) })
	gauge("writes_refused", "1 while writes are refused because the free space is below --min-free.", func() float64 { return oneIf(s.disk.full()) })
	gauge("open_calls", "Calls in flight, over gRPC and HTTP, without health checks.", func() float64 { return float64(s.admission.calls.Held()) })
	gauge("captures_failed", "1 if the file of fetches could not be opened: no fetches are kept until a restart.", func() float64 {
		_, err := s.cfg.Evidence.Captures()
		return oneIf(err != nil)
	})
	gauge("reload_failed", "1 if the latest SIGHUP failed for some of the tokens, certificates or lists: the log names those that stay as they were.", func() float64 { return oneIf(s.reloadFailed.Load()) })
	n.each(counterValue, "urls_dropped_total", "URLs that the daemon gave up, by reason: excluded, or a bound of --attempts, --max-deferred, --max-released or --max-expired (attempts, deferred, released, expired-leases).",
		[]string{"reason"}, func(_ *struct{}, put func(float64, ...string)) {
			dropped := map[frontier.Reason]int64{frontier.ReasonExpired: 0, frontier.ReasonExcluded: 0, frontier.ReasonAttempts: 0, frontier.ReasonDeferred: 0, frontier.ReasonReleased: 0}
			for r := range s.f.own.Refusals() {
				if r.Dropped {
					dropped[r.Reason] += r.Count
				}
			}
			for reason, n := range dropped {
				put(float64(n), string(reason))
			}
		})
	n.one(counterValue, "urls_respelled_total", "Pages that were not found, and were queued in another spelling: in their canonical form, or as they were offered next.",
		func(*struct{}) float64 { return float64(s.f.own.Respelled()) })
	return n
}

// evidenceNumbers are the metrics of rules and traps that the daemon adopted by itself. A feature that is off has none.
func (s *metrics) evidenceNumbers() prometheus.Collector {
	n := &numbers[evidence.Stats]{read: func(context.Context) (evidence.Stats, error) { return s.cfg.Evidence.Stats(), nil }}
	n.each(gaugeValue, "declared_rules", "Rules in use that trusted hosts declared (trust_declared).", nil, func(st *evidence.Stats, put func(float64, ...string)) {
		if st.Hosts > 0 {
			put(float64(st.Rules))
		}
	})
	n.each(counterValue, "declared_refused_total", "Declarations of trusted hosts that were refused.", nil, func(st *evidence.Stats, put func(float64, ...string)) {
		if st.Hosts > 0 {
			put(float64(st.Refused))
		}
	})
	n.each(gaugeValue, "trap_templates", "Path templates whose pages mostly bring nothing new (--traps yield): their URLs come last.", nil, func(st *evidence.Stats, put func(float64, ...string)) {
		if st.Counts {
			put(float64(st.Templates))
		}
	})
	n.each(counterValue, "trap_urls_total", "URLs of the templates in firstseen_trap_templates that were offered, or put back instead of leased: queued with the lowest priority, or only counted (shadow).",
		[]string{"shadow"}, func(st *evidence.Stats, put func(float64, ...string)) {
			if st.Counts {
				put(float64(st.URLs), yes(st.Shadow))
			}
		})
	return n
}

func (s *metrics) captureNumbers() prometheus.Collector {
	n := &numbers[captures.Stats]{read: func(context.Context) (st captures.Stats, err error) {
		sample, _ := s.cfg.Evidence.Captures()
		if sample == nil {
			return st, errNoNumbers
		}
		return sample.Stats(), nil
	}}
	n.one(gaugeValue, "captures", "Fetches that are kept (--captures), to judge the rules.", func(st *captures.Stats) float64 { return float64(st.Rows) })
	n.one(gaugeValue, "captures_share", "Share of the page groups whose fetches are kept: 1, then a half, a quarter … as --captures fills.", func(st *captures.Stats) float64 { return st.Share })
	n.one(counterValue, "captures_dropped_total", "Fetches that were not kept, because the disk failed or was too slow.", func(st *captures.Stats) float64 { return float64(st.Dropped) })
	n.one(counterValue, "captures_damaged_total", "Damaged lines in the file of fetches, which were left out.", func(st *captures.Stats) float64 { return float64(st.Damaged) })
	return n
}

// newStoreGauges are the metrics of a store on disk. Those of time show whether the disk and the processors keep up with the
// writes. A store that failed has none.
func newStoreGauges(s StoreMetrics) prometheus.Collector {
	n := &numbers[pebblestore.Metrics]{read: func(ctx context.Context) (pebblestore.Metrics, error) { return s.Metrics(ctx) }}
	add := func(kind prometheus.ValueType, name, help string, of func(*pebblestore.Metrics) float64) {
		n.one(kind, "store_"+name, help, of)
	}
	add(gaugeValue, "index_bytes", "Memory of the index of keys, in bytes.", func(m *pebblestore.Metrics) float64 { return float64(m.Index.Bytes) })
	add(gaugeValue, "index_failed", "1 if damage of a run file or table was met since the start: keys in it are refused.", func(m *pebblestore.Metrics) float64 { return oneIf(m.Index.Err != nil) })
	add(gaugeValue, "index_mapped_bytes", "Bytes of the run files, which are mapped: the page cache has as much of them as fits.", func(m *pebblestore.Metrics) float64 { return float64(m.Index.Mapped) })
	add(gaugeValue, "disk_bytes", "Tables and log.", func(m *pebblestore.Metrics) float64 { return float64(m.DiskBytes) })
	add(gaugeValue, "level0_tables", "Tables of level 0, not yet compacted; a rising number means that compactions lag.", func(m *pebblestore.Metrics) float64 { return float64(m.L0Tables) })
	add(gaugeValue, "compactions", "Compactions in progress.", func(m *pebblestore.Metrics) float64 { return float64(m.Compacting) })
	add(counterValue, "paced_seconds_total", "Seconds for which writes were slowed down to the pace of compactions, or waited for a flush.", func(m *pebblestore.Metrics) float64 { return m.PaceTime.Seconds() })
	add(counterValue, "stopped_seconds_total", "Seconds for which writes were stopped until a flush or compaction ended.", func(m *pebblestore.Metrics) float64 { return m.StallTime.Seconds() })
	add(counterValue, "user_bytes_total", "Bytes that requests wrote to the log, before any amplification.", func(m *pebblestore.Metrics) float64 { return float64(m.UserBytes) })
	add(counterValue, "written_bytes_total", "Bytes that the log, flushes and compactions wrote.", func(m *pebblestore.Metrics) float64 { return float64(m.WrittenBytes) })
	add(counterValue, "cache_hits_total", "Blocks found in Pebble's block cache.", func(m *pebblestore.Metrics) float64 { return float64(m.CacheHits) })
	add(counterValue, "cache_misses_total", "Blocks not found in Pebble's block cache, and read from the disk or the page cache.", func(m *pebblestore.Metrics) float64 { return float64(m.CacheMisses) })
	add(counterValue, "marks_evicted_total", "Marks of pages that were not found (firstseen_marked_keys) that went for later ones.", func(m *pebblestore.Metrics) float64 { return float64(m.MarksEvicted) })
	busy := prometheus.NewDesc("firstseen_store_commit_busy_seconds", "For how long a commit kept the next one waiting, without the sync and what paced_seconds_total counts.", nil, nil)
	n.rows = append(n.rows, number[pebblestore.Metrics]{busy, func(m *pebblestore.Metrics, d *prometheus.Desc, ch chan<- prometheus.Metric) {
		all, upTo := uint64(0), map[float64]uint64{}
		for i, bound := range pebblestore.BusyBounds {
			all += uint64(m.Busy.Counts[i])
			upTo[bound.Seconds()] = all
		}
		all += uint64(m.Busy.Counts[len(pebblestore.BusyBounds)])
		ch <- prometheus.MustNewConstHistogram(d, all, m.Busy.Sum.Seconds(), upTo)
	}})
	return n
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
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

func (m *backupMetrics) made(b *wire.Backup) {
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
