package pebblestore

import (
	"fmt"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// BenchmarkNewHosts adds a million URLs of as many queues, as a broad crawl finds them, with the memory of a daemon, and shows
// what each of the last 100,000 costs beside one of the first: most of the names were never seen, and the store
// has to know that. Beside it: as many URLs of one queue.
func BenchmarkNewHosts(b *testing.B) {
	const all, part, batch = 1_000_000, 100_000, 1000
	for name, queues := range map[string]int{"hosts=1": 1, "hosts=1000000": all} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := openPrepared(b.TempDir(), Options{KeepURLs: true, CacheBytes: 64 << 20, BufferBytes: 64 << 20})
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
				b.ReportMetric(float64((cpuTime()-begun).Nanoseconds())/all, "cpu-ns/URL")
				if st, err := s.Stats(b.Context(), ""); err != nil || st != (store.Stats{Seen: all, Held: all, Queues: int64(queues), Active: int64(queues)}) {
					b.Fatal(st, err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
