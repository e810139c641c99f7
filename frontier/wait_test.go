package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestWaitersAreNotWokenInVain bounds the steps of the store that idle callers cause:
// a few for each add to their crawl, none for an add to another.
func TestWaitersAreNotWokenInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters, adds = 900, 50
		s := newCountingStore()
		f := openOn(t, s, Options{})
		ctx, cancel := context.WithCancel(bg)
		var wg sync.WaitGroup
		var served atomic.Int64
		for i := range waiters {
			req := LeaseRequest{Crawl: "idle", Max: 1 + i%7}
			if i%3 == 0 {
				req.Crawl = "busy"
			}
			wg.Go(func() {
				leases, _, err := f.LeaseWait(ctx, req, false)
				if err == nil {
					served.Add(int64(len(leases)))
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for crawl, most := range map[string]int64{"busy": 2 * adds, "third": 0} {
			before := s.takes.Load()
			for i := range adds {
				addOne(t, f, Link{URL: fmt.Sprintf("http://h%d.example/", i), Crawl: crawl})
				synctest.Wait()
			}
			if n := s.takes.Load() - before; n > most {
				t.Errorf("got %d takes for %d adds to crawl %s, while %d callers wait; want at most %d", n, adds, crawl, waiters, most)
			}
		}
		if n := served.Load(); n != adds {
			t.Errorf("got %d leases; want the %d URLs of the crawl that callers wait for", n, adds)
		}
		cancel()
		wg.Wait()
		if n := len(f.rooms.byName); n != 0 {
			t.Errorf("got %d crawls with callers; want none", n)
		}
	})
}

// TestNoWaiterIsForgotten has callers with all kinds of requests come and go while URLs
// are added, become due and are released: whenever nothing moves, nothing that a waiting
// caller may have is there to take.
func TestNoWaiterIsForgotten(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { waitAndLeave(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func waitAndLeave(t *testing.T, rnd *rand.Rand) {
	f := open(t, Options{Delay: time.Second})
	crawls := []string{"", "a", "b"}
	waiting := map[int]LeaseRequest{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var held []*Lease
	for i := range 200 {
		switch rnd.IntN(4) {
		case 0:
			req := LeaseRequest{Crawl: crawls[rnd.IntN(3)], Max: 1 + rnd.IntN(4), MaxQueues: rnd.IntN(3), MaxPerQueue: 1 + rnd.IntN(2)}
			if req.Crawl != "" && rnd.IntN(3) == 0 {
				req.Queue = "h1.example"
			}
			ctx, cancel := context.WithTimeout(bg, time.Duration(1+rnd.IntN(20_000))*time.Millisecond)
			mu.Lock()
			waiting[i] = req
			mu.Unlock()
			wg.Go(func() {
				defer cancel()
				leases, _, err := f.LeaseWait(ctx, req, false)
				mu.Lock()
				defer mu.Unlock()
				delete(waiting, i)
				if held = append(held, leases...); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		case 1:
			u := Link{URL: fmt.Sprintf("http://h%d.example/%d", rnd.IntN(3), i), Crawl: crawls[rnd.IntN(3)]}
			if rnd.IntN(3) == 0 {
				u.Due = time.Now().Add(time.Duration(rnd.IntN(10_000)) * time.Millisecond)
			}
			addOne(t, f, u)
		case 2:
			mu.Lock()
			back := held
			held = nil
			mu.Unlock()
			f.giveBack(back)
		case 3:
			time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
		}
		synctest.Wait()
		mu.Lock()
		for _, req := range waiting {
			if leases, _, err := f.Lease(bg, req); err != nil || len(leases) > 0 {
				t.Errorf("step %d: got %d leases, %v for %+v; want none that its caller would not have got", i, len(leases), err, req)
			}
		}
		mu.Unlock()
	}
	wg.Wait()
}

// TestOnWaitTellsOfLongWaits: a crawl that goes on at its pace has nothing to tell; a pause is told once.
func TestOnWaitTellsOfLongWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		f := open(t, Options{Delay: 200 * time.Millisecond, MaxInFlight: -1, OnWait: func(why Idle) { told = append(told, why.String()) }})
		for n := range 20 {
			addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", n)})
		}
		paused, n := true, 0
		for l, err := range f.Leases(bg) {
			must(t, err)
			must(t, f.Done(bg, l))
			if n++; n != 10 {
				continue
			}
			must(t, f.Configure(bg, "", "a.example", store.QueueChange{Paused: &paused}))
			time.AfterFunc(time.Hour, func() {
				goOn := false
				if err := f.Configure(bg, "", "a.example", store.QueueChange{Paused: &goOn}); err != nil {
					t.Error(err)
				}
			})
		}
		if n != 20 || len(told) != 1 || !strings.Contains(told[0], "paused") {
			t.Errorf("got %d pages, and told %q; want 20, and the pause alone", n, told)
		}
		must(t, f.Close())
	})
}

// TestLeasesOfCallersThatLeft: a lease that reached no caller is no release.
func TestLeasesOfCallersThatLeft(t *testing.T) {
	f := open(t, Options{Delay: -1, MaxReleased: 1})
	addAll(t, f, Link{URL: "http://a.example/"})
	for range 3 {
		l := leaseOne(t, f)
		if l.Attempts != 1 || l.Releases != 0 {
			t.Fatalf("got attempt %d, %d releases; want the first, none", l.Attempts, l.Releases)
		}
		f.giveBack([]*Lease{l})
	}
}
