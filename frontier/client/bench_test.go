package client_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// The benchmarks set three ways beside each other in one run, all durable: a
// frontier in the process, the client of a daemon, and gRPC to the same daemon
// by the generated stubs. Daemon and clients share the machine. Run them with
// -benchtime 200000x: the time is per URL.

const benchCallers, benchBatch, benchHosts = 4, 1000, 1000

// benchURL is the URL of the ith offer: 70 % were offered before.
func benchURL(i int) string {
	id := i * 3 / 10
	return fmt.Sprintf("http://host%d.example/path/to/page%d?a=1&b=%d", id%benchHosts, id, i%3/3)
}

func benchEmbedded(b *testing.B) frontier.Interface {
	return embedded(b, frontier.Options{Delay: -1, MaxInFlight: -1, Traps: frontier.Traps{Off: true}})
}

func benchStub(b *testing.B) frontierpb.URLFrontierClient {
	conn, err := grpc.NewClient(newDaemon(b).grpc, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() }) // ends with the benchmark
	stub := frontierpb.NewURLFrontierClient(conn)
	if _, err := stub.GetActive(bg, &frontierpb.Local{}); err != nil {
		b.Fatal(err)
	}
	return stub
}

// parallel splits b.N among callers and lets each work off ranges of a batch.
func parallel(b *testing.B, batch int, work func(from, to int) error) {
	b.Helper()
	var from atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range benchCallers {
		wg.Go(func() {
			for {
				start := int(from.Add(int64(batch))) - batch
				if start >= b.N {
					return
				}
				if err := work(start, min(start+batch, b.N)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "URLs/s")
}

func BenchmarkAdd(b *testing.B) {
	for name, open := range map[string]func(*testing.B) frontier.Interface{
		"embedded":     benchEmbedded,
		"client":       func(b *testing.B) frontier.Interface { return newDaemon(b).open(b, client.Options{}) },
		"client-brief": func(b *testing.B) frontier.Interface { return newDaemon(b).open(b, client.Options{}) },
	} {
		for _, batch := range []int{benchBatch, 1} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(b *testing.B) {
				f := open(b)
				parallel(b, batch, func(from, to int) error {
					urls := make([]frontier.Link, to-from)
					for i := range urls {
						urls[i] = frontier.Link{URL: benchURL(from + i), SkipFirst: name == "client-brief"}
					}
					_, err := f.AddBatch(bg, urls)
					return err
				})
			})
		}
	}
	b.Run(fmt.Sprintf("grpc/batch=%d", benchBatch), func(b *testing.B) {
		stub := benchStub(b)
		parallel(b, benchBatch, func(from, to int) error { return putDiscovered(stub, from, to) })
	})
}

// putDiscovered sends one batch on a stream of its own, as a call of the client
// is a request of its own.
func putDiscovered(stub frontierpb.URLFrontierClient, from, to int) error {
	batch := &frontierpb.DiscoveredBatch{}
	for i := from; i < to; i++ {
		batch.Items = append(batch.Items, &frontierpb.URLInfo{Url: benchURL(i)})
	}
	stream, err := stub.PutDiscovered(bg)
	if err == nil {
		err = stream.Send(batch)
	}
	if err == nil {
		_, err = stream.Recv()
	}
	if err == nil {
		err = stream.CloseSend()
	}
	return err
}

// BenchmarkCycle leases and settles, 100 at once.
func BenchmarkCycle(b *testing.B) {
	for name, open := range map[string]func(*testing.B) frontier.Interface{
		"embedded": benchEmbedded,
		"client":   func(b *testing.B) frontier.Interface { return newDaemon(b).open(b, client.Options{MaxInFlight: -1}) },
	} {
		b.Run(name, func(b *testing.B) {
			f := open(b)
			fillFrontier(b, f)
			parallel(b, 100, func(from, to int) error { return leaseAndSettle(f, to-from) })
		})
	}
	b.Run("grpc", func(b *testing.B) {
		stub := benchStub(b)
		for from := 0; from < b.N*10/3; from += benchBatch {
			if err := putDiscovered(stub, from, from+benchBatch); err != nil {
				b.Fatal(err)
			}
		}
		parallel(b, 100, func(from, to int) error { return getAndPut(stub, to-from) })
	})
}

func fillFrontier(b *testing.B, f frontier.Interface) {
	for from := 0; from < b.N*10/3; from += benchBatch {
		urls := make([]frontier.Link, benchBatch)
		for i := range urls {
			urls[i].URL = benchURL(from + i)
		}
		if _, err := f.AddBatch(bg, urls); err != nil {
			b.Fatal(err)
		}
	}
}

func leaseAndSettle(f frontier.Interface, n int) error {
	leases, _, err := f.Lease(bg, frontier.LeaseRequest{Max: n})
	if err != nil {
		return err
	}
	settlements := make([]frontier.Settlement, len(leases))
	for i, l := range leases {
		settlements[i].Lease = l
	}
	_, err = f.Settle(bg, settlements)
	return err
}

// getAndPut is the same in the protocol of URLFrontier.
func getAndPut(stub frontierpb.URLFrontierClient, n int) error {
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	got, err := stub.GetURLs(ctx, &frontierpb.GetParams{MaxUrlsPerQueue: 1, MaxQueues: uint32(n), DelayRequestable: 120})
	if err != nil {
		return err
	}
	put, err := stub.PutURLs(ctx)
	if err != nil {
		return err
	}
	for sent := 0; ; sent++ {
		info, err := got.Recv()
		if err != nil { // the end
			for range sent {
				if _, err := put.Recv(); err != nil {
					return err
				}
			}
			return put.CloseSend()
		}
		known := &frontierpb.URLItem{Item: &frontierpb.URLItem_Known{Known: &frontierpb.KnownURLItem{Info: info}}}
		if err := put.Send(known); err != nil {
			return err
		}
	}
}
