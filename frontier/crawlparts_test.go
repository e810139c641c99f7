package frontier

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// urlsOfCrawls returns one URL in each of n crawls.
func urlsOfCrawls(n int) []Link {
	urls := make([]Link, n)
	for i := range urls {
		urls[i] = Link{URL: "http://h.example/", Crawl: fmt.Sprintf("crawl %d", i)}
	}
	return urls
}

// TestBatchOfManyCrawlsIsLinear bounds what each crawl of a batch adds to its
// work, by the memory that it allocates.
func TestBatchOfManyCrawlsIsLinear(t *testing.T) {
	const crawls, bytesEach = 5000, 32 << 10
	f := open(t, Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, r := range addAll(t, f, urlsOfCrawls(crawls)...) {
		if r.Status != StatusNew {
			t.Fatalf("crawl %d: got %v; want new", i, r.Status)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / crawls; each > bytesEach {
		t.Errorf("got %d bytes allocated for each crawl; want at most %d", each, bytesEach)
	}
}

// cancelingStore counts the steps that write, and ends a context with one of them.
// Like a store in the middle of a step, it doesn't ask whether the context ended.
type cancelingStore struct {
	store.Store
	steps  atomic.Int64
	endAt  int64
	cancel context.CancelFunc
}

func (s *cancelingStore) step() {
	if s.steps.Add(1) == s.endAt {
		s.cancel()
	}
}

func (s *cancelingStore) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	s.step()
	return s.Store.Add(context.WithoutCancel(ctx), crawl, items, opt)
}

func (s *cancelingStore) Settle(ctx context.Context, crawl string, settlements []store.Settlement) ([]store.SettleStatus, error) {
	s.step()
	return s.Store.Settle(context.WithoutCancel(ctx), crawl, settlements)
}

func TestCallOfManyCrawlsEndsWithItsContext(t *testing.T) {
	const crawls, endAt = 1000, 10
	urls := urlsOfCrawls(crawls)
	known := make([]Known, crawls)
	settlements := make([]Settlement, crawls)
	for i, u := range urls {
		known[i] = Known{Link: u, Next: time.Now().Add(time.Hour)}
		settlements[i] = Settlement{Lease: &Lease{Crawl: u.Crawl, Token: 1}}
	}
	calls := map[string]func(context.Context, *Frontier) error{
		"AddBatch": func(ctx context.Context, f *Frontier) error { _, err := f.AddBatch(ctx, urls); return err },
		"See":      func(ctx context.Context, f *Frontier) error { _, err := f.See(ctx, urls); return err },
		"Put":      func(ctx context.Context, f *Frontier) error { _, err := f.Put(ctx, known); return err },
		"Settle":   func(ctx context.Context, f *Frontier) error { _, err := f.Settle(ctx, settlements); return err },
	}
	for name, call := range calls {
		ctx, cancel := context.WithCancel(bg)
		s := &cancelingStore{Store: memstore.New(memstore.Options{KeepURLs: true}), endAt: endAt, cancel: cancel}
		f := openOn(t, s, Options{})
		if err := call(ctx, f); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v; want the error of its context", name, err)
		}
		// Put makes two steps of each crawl that it creates.
		if got := s.steps.Load(); got < endAt || got > endAt+2*partsAtOnce {
			t.Errorf("%s: got %d steps; want those begun when its context ended, %d to %d", name, got, endAt, endAt+2*partsAtOnce)
		}
		cancel()
	}
}
