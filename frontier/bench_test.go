package frontier

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store/pebblestore"
)

// discovered makes the load that the closest peer was measured with: n offers
// of URLs of so many hosts, few hosts having most, 70 % of them seen before,
// the duplicates mostly of early URLs.
func discovered(n, hosts int) []Link {
	rnd := rand.New(rand.NewPCG(1, 2))
	urls := make([]Link, 0, n)
	for len(urls) < n {
		if len(urls) > 100 && rnd.Float64() < 0.7 {
			x := rnd.Float64()
			urls = append(urls, urls[int(x*x*float64(len(urls)))])
			continue
		}
		x := rnd.Float64()
		host := int(x * x * float64(hosts))
		urls = append(urls, Link{URL: fmt.Sprintf("https://www.host-%05d.example/articles/2026/%02d/%08x-some-title.html?page=%d", host, rnd.IntN(12)+1, rnd.Uint32(), rnd.IntN(9)+1)})
	}
	return urls
}

// count is a number from the environment, for long runs.
func count(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return def
}

// tortureCount is how often to repeat a random test: few times in an ordinary run, many with
// FIRSTSEEN_TORTURE=1, or as often as FIRSTSEEN_TORTURE_N.
func tortureCount(few, many int) int {
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		few = many
	}
	return count("FIRSTSEEN_TORTURE_N", few)
}

// benchStores are the stores that benchmarks compare.
var benchStores = []string{"memstore", "pebblestore"}

func openBench(b *testing.B, kind string, opt Options) *Frontier {
	b.Helper()
	if kind == "memstore" {
		return open(b, opt)
	}
	s, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	return openOn(b, s, opt)
}

// BenchmarkAdd adds discovered URLs, each batch durable when it returns, traps
// on as they are by default. One op is the whole load.
func BenchmarkAdd(b *testing.B) {
	urls := discovered(count("FIRSTSEEN_BENCH_N", 1_000_000), 10_000)
	for _, kind := range benchStores {
		for _, load := range []struct{ adders, batch int }{{16, 100}, {4, 2000}, {1, 10_000}, {4, 10_000}} {
			for _, skip := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/adders=%d/batch=%d/skipFirst=%v", kind, load.adders, load.batch, skip), func(b *testing.B) {
					var cpu time.Duration
					for b.Loop() {
						b.StopTimer()
						f := openBench(b, kind, Options{})
						for i := range urls {
							urls[i].SkipFirst = skip
						}
						b.StartTimer()
						before := cpuTime()
						addConcurrently(b, f, urls, load.adders, load.batch)
						cpu += cpuTime() - before
						b.StopTimer()
						must(b, f.Close())
						b.StartTimer()
					}
					report(b, len(urls)*b.N, cpu)
				})
			}
		}
	}
}

// report adds the rate, and the CPU time of a URL, which other load on the machine changes less.
func report(b *testing.B, urls int, cpu time.Duration) {
	b.ReportMetric(float64(urls)/b.Elapsed().Seconds(), "URLs/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(urls), "cpu-ns/URL")
}

func addConcurrently(b *testing.B, f *Frontier, urls []Link, adders, batch int) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range adders {
		wg.Go(func() {
			for {
				i := int(next.Add(int64(batch))) - batch
				if i >= len(urls) {
					return
				}
				if _, err := f.AddBatch(bg, urls[i:min(i+batch, len(urls))]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkCycle leases and completes, so many at once by each of 4 fetchers.
// One op is one URL.
func BenchmarkCycle(b *testing.B) {
	const fetchers = 4
	for _, kind := range benchStores {
		for _, n := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/fetchers=%d/at-once=%d", kind, fetchers, n), func(b *testing.B) {
				f := openBench(b, kind, Options{Delay: -1, MaxInFlight: -1})
				fill(b, f, b.N+fetchers*n, 10_000)
				b.ResetTimer()
				before := cpuTime()
				var wg sync.WaitGroup
				for range fetchers {
					wg.Go(func() { cycle(b, f, b.N/fetchers, n) })
				}
				wg.Wait()
				report(b, b.N, cpuTime()-before)
			})
		}
	}
}

// fill queues n URLs, evenly over hosts.
func fill(b *testing.B, f *Frontier, n, hosts int) {
	b.Helper()
	urls := make([]Link, 0, 10_000)
	for i := range n {
		urls = append(urls, Link{URL: fmt.Sprintf("https://www.host-%05d.example/articles/2026/%08x-some-title.html", i%hosts, i)})
		if len(urls) == cap(urls) || i == n-1 {
			if _, err := f.AddBatch(bg, urls); err != nil {
				b.Fatal(err)
			}
			urls = urls[:0]
		}
	}
}

// cycle leases and completes n URLs.
func cycle(b *testing.B, f *Frontier, n, atOnce int) {
	for n > 0 {
		leases, _, err := f.Lease(bg, LeaseRequest{Max: min(atOnce, n), MaxPerQueue: 10})
		if err != nil || len(leases) == 0 {
			b.Errorf("got %d leases, %v; want some", len(leases), err)
			return
		}
		settle := make([]Settlement, len(leases))
		for i, l := range leases {
			settle[i].Lease = l
		}
		if _, err := f.Settle(bg, settle); err != nil {
			b.Error(err)
			return
		}
		n -= len(leases)
	}
}

// BenchmarkLeaseByQueues is one Lease and Done with ever more queues that wait
// or are empty, and ten that may be served.
func BenchmarkLeaseByQueues(b *testing.B) {
	for _, kind := range benchStores {
		for _, queues := range []int{1000, 10_000, 100_000, count("FIRSTSEEN_BENCH_QUEUES", 1_000_000)} {
			b.Run(fmt.Sprintf("%s/queues=%d", kind, queues), func(b *testing.B) {
				f := openBench(b, kind, Options{Delay: -1})
				crowd(b, f, queues)
				b.ResetTimer()
				before := cpuTime()
				for range b.N {
					leases, _, err := f.Lease(bg, LeaseRequest{Max: 1})
					if err != nil || len(leases) != 1 {
						b.Fatalf("got %d leases, %v; want 1", len(leases), err)
					}
					must(b, f.Recrawl(bg, leases[0], time.Unix(1, 0)))
				}
				b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
			})
		}
	}
}

// crowd makes queues: half of them completed and empty, half waiting for
// tomorrow, and ten that are ready.
func crowd(b *testing.B, f *Frontier, queues int) {
	b.Helper()
	tomorrow := time.Now().Add(24 * time.Hour)
	known := make([]Known, 0, 10_000)
	for i := range queues {
		k := Known{Link: Link{URL: fmt.Sprintf("https://host-%07d.example/", i)}}
		if i%2 == 0 {
			k.Next = tomorrow
		}
		if known = append(known, k); len(known) == cap(known) || i == queues-1 {
			if _, err := f.Put(bg, known); err != nil {
				b.Fatal(err)
			}
			known = known[:0]
		}
	}
	fill(b, f, 10, 10)
}
