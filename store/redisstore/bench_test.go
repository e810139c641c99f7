package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// benchItem makes the nth URL of a crawl of many hosts of uneven size.
func benchItem(n uint64) store.Item {
	h := n * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	var k store.Key
	binary.BigEndian.PutUint64(k[:], h)
	binary.BigEndian.PutUint64(k[8:], n*0x94d049bb133111eb)
	u := float64(h>>11) / (1 << 53)
	host := fmt.Sprintf("host-%d.example", int(20000*u*u*u))
	return store.Item{Key: k, Queue: host, URL: fmt.Sprintf("https://%s/some/path/of/usual/length/page-%d.html?id=%d", host, n, h%9999)}
}

// BenchmarkCluster measures add (70 in 100 URLs are duplicates) and take on a
// cluster of three masters with a replica each, every answer covered by WAIT 1.
func BenchmarkCluster(b *testing.B) {
	c := rediscluster.New(b, 3, 1)
	for _, callers := range []int{1, 4} {
		for _, batch := range []int{1000, 8000} {
			o := testOptions("", 64)
			o.Addrs, o.Replicas, o.waitTimeout = c.Addrs(), 1, 5*time.Second
			s := open(b, o)
			var next atomic.Uint64
			b.Run(fmt.Sprintf("add/callers-%d/batch-%d", callers, batch), func(b *testing.B) {
				was := cpuNow(b, c)
				n := benchAdd(b, s, callers, batch, &next)
				reportCPU(b, c, n, was)
			})
			b.Run(fmt.Sprintf("take/callers-%d/batch-%d", callers, batch), func(b *testing.B) {
				was := cpuNow(b, c)
				n := benchTake(b, s, callers, batch)
				reportCPU(b, c, n, was)
			})
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchAdd(b *testing.B, s *Store, callers, batch int, next *atomic.Uint64) int64 {
	var offered, fresh atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), next.Load()))
			for range max(1, b.N/callers) {
				items := make([]store.Item, batch)
				last := next.Add(uint64(batch * 3 / 10))
				for j := range items {
					n := last - uint64(j)
					if j >= batch*3/10 {
						n = rng.Uint64N(last)
					}
					items[j] = benchItem(n)
				}
				v, err := s.Add(context.Background(), "", items, store.AddOptions{})
				if err != nil {
					b.Error(err)
					return
				}
				for j := range v {
					if v[j].Status == store.New {
						fresh.Add(1)
					}
				}
				offered.Add(int64(batch))
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(offered.Load())/time.Since(begin).Seconds(), "URL/s")
	b.ReportMetric(float64(fresh.Load())/float64(offered.Load()), "new")
	return offered.Load()
}

// cpuOf is the CPU time in µs of the servers, and of this process.
func cpuOf(b *testing.B, c *rediscluster.Cluster) (masters, replicas, self float64) {
	for i, n := range c.Nodes {
		info, err := n.Info(b.Context(), "cpu")
		if err != nil {
			b.Fatal(err)
		}
		us := 0.0
		for _, f := range []string{"used_cpu_user", "used_cpu_sys"} {
			v, _ := strconv.ParseFloat(info[f], 64)
			us += v * 1e6
		}
		if i < 3 {
			masters += us
		} else {
			replicas += us
		}
	}
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		b.Fatal(err)
	}
	return masters, replicas, float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e3
}

func cpuNow(b *testing.B, c *rediscluster.Cluster) [3]float64 {
	m, r, s := cpuOf(b, c)
	return [3]float64{m, r, s}
}

// reportCPU reports the CPU time per URL since an earlier measurement.
func reportCPU(b *testing.B, c *rediscluster.Cluster, n int64, was [3]float64) {
	m, r, s := cpuOf(b, c)
	b.ReportMetric((m-was[0])/float64(n), "µs-master/URL")
	b.ReportMetric((r-was[1])/float64(n), "µs-replica/URL")
	b.ReportMetric((s-was[2])/float64(n), "µs-client/URL")
}

func benchTake(b *testing.B, s *Store, callers, batch int) int64 {
	var taken atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for range max(1, b.N/callers) {
				got, err := s.Take(context.Background(), store.TakeRequest{MaxURLs: batch, MaxPerQueue: 4, Lease: time.Hour})
				if err != nil {
					b.Error(err)
					return
				}
				taken.Add(int64(len(got.Leases)))
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(taken.Load())/time.Since(begin).Seconds(), "lease/s")
	return taken.Load()
}

// BenchmarkSeenBytes measures what a seen key takes in a server's memory: never queued, by
// the server's used_memory; given to a queue, by MEMORY USAGE of the buckets.
func BenchmarkSeenBytes(b *testing.B) {
	const n = 1 << 20
	s := open(b, testOptions(rediscluster.Single(b), 64))
	defer s.Close()
	ctx := b.Context()
	used := func() float64 {
		info, err := only(b, s).InfoMap(ctx, "memory").Result()
		if err != nil {
			b.Fatal(err)
		}
		v, _ := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
		return v
	}
	before := used()
	keys, fresh := make([]store.Key, n), make([]bool, n)
	for i := range keys {
		keys[i] = benchItem(uint64(i)).Key
	}
	if err := s.See(ctx, "", keys, fresh, store.SeeOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric((used()-before)/n, "bytes/seen")
	b.ReportMetric(bytesOfQueued(b, s, n/8)/float64(n/8), "bytes/queued")
}

// bytesOfQueued adds URLs to a crawl of their own and returns what their buckets take.
func bytesOfQueued(b *testing.B, s *Store, n int) (sum float64) {
	items := make([]store.Item, n)
	for i := range items {
		items[i] = benchItem(uint64(i))
	}
	if _, err := s.Add(b.Context(), "queued", items, store.AddOptions{}); err != nil {
		b.Fatal(err)
	}
	for _, base := range s.layout.bases {
		id, err := only(b, s).HGet(b.Context(), base+"c", "queued").Int()
		if err != nil {
			b.Fatal(err)
		}
		head := base + "h" + string(appendUint(nil, 4, uint64(id)))
		for i := uint64(0); ; i++ {
			bytes, err := only(b, s).MemoryUsage(b.Context(), head+string(appendUint(nil, 4, i))).Result()
			if err != nil {
				break
			}
			sum += float64(bytes)
		}
	}
	return sum
}
