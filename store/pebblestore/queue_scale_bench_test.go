package pebblestore

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// BenchmarkTakeByQueues shows what a Take of 10 URLs of 10 queues costs beside
// any number of queues that have nothing to give: nine in ten are empty, with
// a completed URL, the others wait.
func BenchmarkTakeByQueues(b *testing.B) {
	for _, queues := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			s, err := openPrepared(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			idleQueues(b, s, queues)
			for h := range 100 {
				items := make([]store.Item, 2000)
				for i := range items {
					items[i] = benchItem(1e8+h*2000+i, 1)
					items[i].Queue = fmt.Sprintf("busy-%d", h)
				}
				mustAdd(b, s, items)
			}
			cpu := cpuTime()
			for b.Loop() {
				takeAndRequeue(b, s)
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// idleQueues makes queues of which nine in ten are empty and the others wait.
func idleQueues(b *testing.B, s *Store, queues int) {
	const step = 10_000
	later := time.Now().Add(100 * time.Hour)
	for at := 0; at < queues; at += step {
		n := min(step, queues-at)
		var items []store.Item
		var done []store.Settlement
		for i := at; i < at+n; i++ {
			it := benchItem(i, queues)
			it.Queue = fmt.Sprintf("host-%d.example", i)
			if i%10 == 0 {
				it.Due = later
				items = append(items, it)
			} else {
				done = append(done, store.Settlement{Key: it.Key, URL: it.URL, Create: true, Queue: it.Queue})
			}
		}
		mustAdd(b, s, items)
		if _, err := s.Settle(context.Background(), "", done); err != nil {
			b.Fatal(err)
		}
	}
}

func mustAdd(b *testing.B, s *Store, items []store.Item) {
	if _, err := s.Add(context.Background(), "", items, store.AddOptions{}); err != nil {
		b.Fatal(err)
	}
}

// takeAndRequeue takes 10 URLs of 10 queues and puts them back.
func takeAndRequeue(b *testing.B, s *Store) {
	got, err := s.Take(context.Background(), store.TakeRequest{MaxURLs: 10, MaxQueues: 10})
	if err != nil || len(got.Leases) != 10 {
		b.Fatal(len(got.Leases), err)
	}
	list := make([]store.Settlement, len(got.Leases))
	for i, l := range got.Leases {
		list[i] = store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue}
	}
	if _, err := s.Settle(context.Background(), "", list); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIdleQueueMemory measures the memory of a queue that waits.
func BenchmarkIdleQueueMemory(b *testing.B) {
	const queues = 200_000
	for range b.N {
		s, err := openPrepared(b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		before := liveBytes()
		later := time.Now().Add(time.Hour)
		for at := 0; at < queues; at += 10_000 {
			items := make([]store.Item, 10_000)
			for i := range items {
				items[i] = benchItem(at+i, queues)
				items[i].Queue, items[i].Due = fmt.Sprintf("host-%d.example", at+i), later
			}
			mustAdd(b, s, items)
		}
		b.ReportMetric(float64(liveBytes()-before)/queues, "B/queue")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// liveBytes is the memory of the Go heap in use: Pebble's buffers and the seen
// index are outside.
func liveBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
