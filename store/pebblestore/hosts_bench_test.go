package pebblestore

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// BenchmarkNewHosts adds a million URLs of as many queues, as a broad crawl finds them, with the memory of a daemon, and shows
// what each of the last 100,000 costs beside one of the first: most of the names were never seen, and the store
// has to know that. It also reports the bytes in memory and on the disk for each. Beside it: as many URLs of one queue. The long
// form is FIRSTSEEN_BENCH_QUEUED=10000000.
func BenchmarkNewHosts(b *testing.B) {
	const part, batch = 100_000, 1000
	all := part * 10
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_BENCH_QUEUED")); err == nil {
		all = n / part * part
	}
	for _, queues := range []int{1, all} {
		b.Run(fmt.Sprintf("hosts=%d", queues), func(b *testing.B) {
			for b.Loop() {
				dir := b.TempDir()
				s, err := openPrepared(dir, Options{KeepURLs: true, CacheBytes: 64 << 20, BufferBytes: 64 << 20})
				if err != nil {
					b.Fatal(err)
				}
				begun := cpuTime()
				for at := 0; at < all; at += part {
					before := cpuTime()
					for i := at; i < at+part; i += batch {
						mustAdd(b, s, benchItems(i, batch, queues))
					}
					if at == 0 || at == all-part {
						b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/part, fmt.Sprintf("cpu-ns/URL-from-%d", at))
					}
				}
				b.ReportMetric(float64((cpuTime()-begun).Nanoseconds())/float64(all), "cpu-ns/URL")
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/float64(all), "heap-B/URL")
				b.ReportMetric(float64(dirBytes(b, dir))/float64(all), "disk-B/URL")
				if st, err := s.Stats(b.Context(), ""); err != nil || st != (store.Stats{Seen: int64(all), Held: int64(all), Queues: int64(queues), Active: int64(queues)}) {
					b.Fatal(st, err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
