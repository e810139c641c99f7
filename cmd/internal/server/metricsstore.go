package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/store/pebblestore"
)

// StoreMetrics returns metrics of a store on disk.
type StoreMetrics interface {
	Metrics(context.Context) (pebblestore.Metrics, error)
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
