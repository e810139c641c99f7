package frontier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// countingStore counts takes: a waiting frontier must not poll.
type countingStore struct {
	store.Store
	takes atomic.Int64
	fail  atomic.Pointer[error]
}

func (s *countingStore) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	s.takes.Add(1)
	if err := s.fail.Load(); err != nil {
		return store.Taken{}, *err
	}
	return s.Store.Take(ctx, req)
}

func newCountingStore() *countingStore {
	return &countingStore{Store: memstore.New(memstore.Options{})}
}

func TestWaitingIsEndedByAnAddAndDoesNotPoll(t *testing.T) {
	for _, wait := range []func(f *Frontier) error{
		func(f *Frontier) error { _, err := f.Next(bg); return err },
		func(f *Frontier) error { _, _, err := f.LeaseWait(bg, LeaseRequest{Max: 5}, false); return err },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newCountingStore()
			f := openOn(t, s, Options{})
			start := time.Now()
			time.AfterFunc(time.Hour, func() { addOne(t, f, Link{URL: "http://a.example/"}) })
			if err := wait(f); err != nil || time.Since(start) != time.Hour {
				t.Fatalf("got %v after %v; want the URL when it was added", err, time.Since(start))
			}
			if n := s.takes.Load(); n > 3 {
				t.Errorf("got %d takes in an hour of waiting; want at most 3", n)
			}
		})
	}
}

func TestNextIsWokenByForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1})
		addOne(t, f, Link{URL: "http://a.example/"})
		must(t, f.Done(bg, leaseOne(t, f)))
		time.AfterFunc(time.Hour, func() { addOne(t, f, Link{URL: "http://a.example/", Force: true}) })
		ctx, cancel := context.WithTimeout(bg, 2*time.Hour)
		defer cancel()
		if _, err := f.Next(ctx); err != nil {
			t.Errorf("got %v; want the URL when it was queued again", err)
		}
	})
}

func TestNextWaitsForWhatTimeBrings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		f := openOn(t, s, Options{Delay: 90 * time.Second})
		start := time.Now()
		addAll(t, f, Link{URL: "http://a.example/", Due: start.Add(time.Minute)}, Link{URL: "http://a.example/2"})
		for _, want := range []time.Duration{0, 90 * time.Second} {
			l, err := f.Next(bg)
			must(t, err)
			if got := time.Since(start); got != want {
				t.Errorf("%s after %v; want %v", l.URL, got, want)
			}
			must(t, f.Done(bg, l))
		}
		if n := s.takes.Load(); n > 6 {
			t.Errorf("got %d takes; want at most 6", n)
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{})
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if l, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v; want the context's error", l, err)
		}
		if l, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v from a context that is over; want its error", l, err)
		}
	})
}

func TestManyWaitersEachGetOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{})
		const n = 300
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for i := range n {
			wg.Go(func() {
				ctx := bg
				if i%10 == 0 { // some go away before
					var cancel func()
					ctx, cancel = context.WithTimeout(bg, time.Second)
					defer cancel()
				}
				l, err := f.Next(ctx)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got[l.URL]++
				}
			})
		}
		time.Sleep(time.Minute)
		var urls []Link
		for i := range n {
			urls = append(urls, Link{URL: fmt.Sprintf("http://h%d.example/", i)})
		}
		addAll(t, f, urls...)
		wg.Wait()
		if len(got) != n-n/10 {
			t.Errorf("got %d URLs; want %d", len(got), n-n/10)
		}
		for u, c := range got {
			if c != 1 {
				t.Errorf("%s went to %d; want 1", u, c)
			}
		}
		stats, err := f.Stats(bg, "")
		if must(t, err); stats.InFlight != n-n/10 {
			t.Errorf("got %d in flight; want %d: nothing taken for those who left", stats.InFlight, n-n/10)
		}
	})
}

func TestLeasesEndWhenNothingIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: 100 * time.Millisecond, MaxInFlight: 2})
		addOne(t, f, Link{URL: "http://a.example/"})
		var fetched atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for l, err := range f.Leases(bg) {
					must(t, err)
					time.Sleep(time.Second)
					fetched.Add(1)
					if l.Depth < 4 {
						_, err := f.AddBatch(bg, Links(l, l.URL+"1", l.URL+"2"))
						must(t, err)
					}
					must(t, f.Done(bg, l))
				}
			})
		}
		wg.Wait()
		if n := fetched.Load(); n != 31 {
			t.Errorf("fetched %d; want 31, a tree of depth 4", n)
		}
	})
}

func TestCloseEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{})
		addOne(t, f, Link{URL: "http://a.example/"})
		inHand := leaseOne(t, f)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if l, err := f.Next(bg); !errors.Is(err, store.ErrClosed) {
					t.Errorf("got %v, %v; want ErrClosed", l, err)
				}
			})
		}
		synctest.Wait()
		must(t, f.Close())
		wg.Wait()
		if err := f.Done(bg, inHand); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
		if _, err := f.Add(bg, "http://a.example/"); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
		for _, err := range f.Queues(bg, "", "") {
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("got %v; want ErrClosed", err)
			}
		}
	})
}

func TestStoreErrorReachesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		f := openOn(t, s, Options{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if l, err := f.Next(bg); !errors.Is(err, store.ErrFailed) {
					t.Errorf("got %v, %v; want ErrFailed", l, err)
				}
			})
		}
		synctest.Wait()
		failed := store.ErrFailed
		s.fail.Store(&failed)
		addOne(t, f, Link{URL: "http://a.example/"})
		wg.Wait()
		if n := s.takes.Load(); n > 10 {
			t.Errorf("got %d takes; want no loop on an error", n)
		}
	})
}

func TestLeaseWaitEndsWhenTheCrawlIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{})
		addOne(t, f, Link{URL: "http://a.example/"})
		addOne(t, f, Link{URL: "http://a.example/", Crawl: "other"})
		leases, _, err := f.LeaseWait(bg, LeaseRequest{Crawl: "other"}, true)
		if err != nil || len(leases) != 1 {
			t.Fatalf("got %v, %v; want a lease", leases, err)
		}
		start := time.Now()
		time.AfterFunc(time.Minute, func() {
			if err := f.Done(bg, leases[0]); err != nil {
				t.Error(err)
			}
		})
		none, idle, err := f.LeaseWait(bg, LeaseRequest{Crawl: "other"}, true)
		if err != nil || idle.State != store.Finished || len(none) != 0 || time.Since(start) != time.Minute {
			t.Errorf("got %v, %v, %v after %v; want the end of the crawl when its last URL is done", none, idle, err, time.Since(start))
		}
		if leases, _, err = f.LeaseWait(bg, LeaseRequest{Crawl: "*"}, true); err != nil || len(leases) != 1 {
			t.Errorf("got %v, %v; want the URL of the other crawl", leases, err)
		}
	})
}
