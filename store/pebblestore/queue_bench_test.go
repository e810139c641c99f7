package pebblestore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

var words = []string{"news", "article", "world", "science", "view", "product", "category", "user", "wiki", "page",
	"history", "of", "the", "download", "archive", "blog", "post", "tag", "search", "item", "shop", "about", "en", "de"}

// benchItem is the nth URL of a web of hosts, about 80 bytes, always the same.
func benchItem(n, hosts int) store.Item {
	rng := rand.New(rand.NewPCG(uint64(n), 99))
	w := func() string { return words[rng.IntN(len(words))] }
	host := fmt.Sprintf("%s%d.%s-%s.example", w(), n%hosts, words[n%hosts%len(words)], words[n%hosts/7%len(words)])
	url := fmt.Sprintf("https://%s/%s/%d/%s-%s-%s-%d.html", host, w(), 2000+rng.IntN(26), w(), w(), w(), rng.IntN(1e7))
	if rng.IntN(3) == 0 {
		url += fmt.Sprintf("?%s=%d", w(), rng.IntN(1e5))
	}
	return store.Item{Key: store.Key(firstBytes(url, n)), Queue: host, URL: url}
}

func firstBytes(url string, n int) []byte {
	sum := sha256.Sum256(fmt.Append(nil, n, url))
	return sum[:16]
}

// benchItems are n URLs from the given one on, queued by host.
func benchItems(from, n, hosts int) []store.Item {
	items := make([]store.Item, n)
	for i := range items {
		items[i] = benchItem(from+i, hosts)
		items[i].Queue = fmt.Sprintf("host-%d.example", (from+i)%hosts)
	}
	return items
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func dirBytes(b *testing.B, dir string) (n int64) {
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// benchBatch is how many URLs are offered or taken in a call.
const benchBatch = 10_000

// fillBench adds n new URLs with dup in ten duplicates beside them, and returns
// how many were offered and the time it took.
func fillBench(b *testing.B, s *Store, n, hosts, dup int) (offered int, took, cpu time.Duration) {
	rng := rand.New(rand.NewPCG(1, 2))
	fresh := benchBatch * (10 - dup) / 10
	for at := 0; at < n; at += fresh {
		items := benchItems(at, fresh, hosts)
		for len(items) < benchBatch {
			items = append(items, items[rng.IntN(fresh)])
			if at > 0 {
				old := benchItems(rng.IntN(at), 1, hosts)
				items[len(items)-1] = old[0]
			}
		}
		rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		start, c := time.Now(), cpuTime()
		v, err := s.Add(context.Background(), "", items, store.AddOptions{})
		took += time.Since(start)
		cpu += cpuTime() - c
		if err != nil {
			b.Fatal(err)
		}
		offered += len(v)
	}
	return offered, took, cpu
}

// BenchmarkAddTakeSettle adds a million URLs of 10,000 hosts, 70 % duplicates
// beside them, then leases and settles them, all synced.
func BenchmarkAddTakeSettle(b *testing.B) {
	for range b.N {
		dir := b.TempDir()
		s, err := openPrepared(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		const n, hosts = 1_000_000, 10_000
		offered, took, cpu := fillBench(b, s, n, hosts, 7)
		b.ReportMetric(float64(offered)/took.Seconds(), "offered/s")
		b.ReportMetric(float64(cpu.Nanoseconds())/float64(offered), "cpu-ns/offered")
		if err := s.db.Flush(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(dirBytes(b, dir))/n, "dir-B/queued")
		b.ReportMetric(float64(s.db.Metrics().Total().TablesSize)/n, "tables-B/queued")
		cycleBench(b, s, n, 1000, 10)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// cycleBench leases and settles n URLs in calls of some queues and some URLs of
// each.
func cycleBench(b *testing.B, s *Store, n, queues, urls int) {
	var takeTime, settleTime, takeCPU, settleCPU time.Duration
	done := 0
	for done < n {
		start, c := time.Now(), cpuTime()
		got, err := s.Take(context.Background(), store.TakeRequest{MaxURLs: queues * urls, MaxQueues: queues, MaxPerQueue: urls})
		takeTime += time.Since(start)
		takeCPU += cpuTime() - c
		if err != nil || len(got.Leases) == 0 {
			b.Fatal(len(got.Leases), err)
		}
		list := make([]store.Settlement, len(got.Leases))
		for i, l := range got.Leases {
			list[i] = store.Settlement{Key: l.Key, Token: l.Token, Late: true, Fetched: true}
		}
		start, c = time.Now(), cpuTime()
		if _, err := s.Settle(context.Background(), "", list); err != nil {
			b.Fatal(err)
		}
		settleTime += time.Since(start)
		settleCPU += cpuTime() - c
		done += len(list)
	}
	b.ReportMetric(float64(done)/takeTime.Seconds(), "taken/s")
	b.ReportMetric(float64(takeCPU.Nanoseconds())/float64(done), "cpu-ns/taken")
	b.ReportMetric(float64(done)/settleTime.Seconds(), "settled/s")
	b.ReportMetric(float64(done)/(takeTime+settleTime).Seconds(), "cycles/s")
	b.ReportMetric(float64(settleCPU.Nanoseconds())/float64(done), "cpu-ns/settled")
}

// BenchmarkFirst asks for the first-seen URLs of a million URLs that are known and queued, after the store
// was opened again: each is asked for once, so none is in the cache.
func BenchmarkFirst(b *testing.B) {
	const n, hosts = 1_000_000, 10_000
	dir := b.TempDir()
	s, err := openPrepared(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	fillBench(b, s, n, hosts, 0)
	for _, batch := range []int{10_000, 100} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			for range b.N {
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				if s, err = openPrepared(dir, Options{}); err != nil {
					b.Fatal(err)
				}
				askFirst(b, s, rand.New(rand.NewPCG(1, 3)).Perm(n), hosts, batch)
			}
		})
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func askFirst(b *testing.B, s *Store, order []int, hosts, batch int) {
	items := make([]store.Item, batch)
	var cpu time.Duration
	for at := 0; at+batch <= len(order); at += batch {
		for i := range items {
			items[i] = benchItem(order[at+i], hosts)
			items[i].URL += "#"
		}
		c := cpuTime()
		verdicts, err := s.Add(context.Background(), "", items, store.AddOptions{WantFirst: true})
		cpu += cpuTime() - c
		if err != nil {
			b.Fatal(err)
		}
		for i := range verdicts {
			if got := verdicts[i].First + "#"; got != items[i].URL {
				b.Fatalf("got the first-seen URL %q of %q", got, items[i].URL)
			}
		}
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(len(order)), "cpu-ns/URL")
}
