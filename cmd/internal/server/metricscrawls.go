package server

import (
	"context"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

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
		for i, n := range [len(crawlGauges)]int64{st.Seen, st.Held, st.InFlight, st.Completed, st.Dropped} {
			all = append(all, prometheus.MustNewConstMetric(crawlGauges[i], prometheus.GaugeValue, float64(n), crawl))
		}
	}
	for _, m := range all {
		ch <- m
	}
}
