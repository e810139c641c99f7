package server

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

type fixedMetrics struct {
	m   pebblestore.Metrics
	err error
}

func (f fixedMetrics) Metrics(context.Context) (pebblestore.Metrics, error) { return f.m, f.err }

// storeLines are the lines of /metrics about the store on disk.
func storeLines(t *testing.T, r *running) (lines []string) {
	t.Helper()
	_, text := r.ask(t, "GET", "/metrics", "")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "firstseen_store_") {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "firstseen_store_"))
		}
	}
	return lines
}

func TestStoreMetrics(t *testing.T) {
	m := pebblestore.Metrics{
		Index:        pebblestore.IndexInfo{Bytes: 1, Mapped: 2, Err: store.ErrCorrupt},
		MarksEvicted: 13, DiskBytes: 3, L0Tables: 4, Compacting: 5, PaceTime: 6500 * time.Millisecond, StallTime: 7 * time.Second,
		UserBytes: 8, WrittenBytes: 9, CacheHits: 10, CacheMisses: 11,
		Busy: pebblestore.BusyTimes{Counts: [16]int64{0: 3, 7: 2, 15: 1}, Sum: 12 * time.Second},
	}
	busy := "commit_busy_seconds_bucket{le=\"0.001\"} 3|commit_busy_seconds_bucket{le=\"0.05\"} 5|commit_busy_seconds_bucket{le=\"+Inf\"} 6|" +
		"commit_busy_seconds_sum 12|commit_busy_seconds_count 6"
	want := "cache_hits_total 10|cache_misses_total 11|compactions 5|disk_bytes 3|index_bytes 1|index_failed 1|index_mapped_bytes 2|level0_tables 4|marks_evicted_total 13|" +
		"paced_seconds_total 6.5|stopped_seconds_total 7|user_bytes_total 8|written_bytes_total 9"
	lines := storeLines(t, start(t, canon.Qiita(), Config{Store: fixedMetrics{m: m}}))
	var buckets []string
	lines = slices.DeleteFunc(lines, func(line string) bool {
		if strings.HasPrefix(line, "commit_") {
			buckets = append(buckets, line)
		}
		return strings.HasPrefix(line, "commit_")
	})
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for want := range strings.SplitSeq(busy, "|") {
		if !slices.Contains(buckets, want) {
			t.Errorf("got  %s\nwant %s among them", buckets, want)
		}
	}
	if got := storeLines(t, start(t, canon.Qiita(), Config{})); got != nil {
		t.Errorf("got %q without a store on disk; want nothing", got)
	}
	if got := storeLines(t, start(t, canon.Qiita(), Config{Store: fixedMetrics{m, store.ErrFailed}})); got != nil {
		t.Errorf("got %q of a store that failed; want nothing", got)
	}
}
