package frontier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

func TestLeaseWaitIsWokenAndDoesNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		f := openOn(t, s, Options{})
		start := time.Now()
		time.AfterFunc(time.Hour, func() { addOne(t, f, Link{URL: "http://a.example/"}) })
		leases, idle, err := f.LeaseWait(bg, LeaseRequest{Max: 5}, false)
		if err != nil || idle != (Idle{}) || len(leases) != 1 || time.Since(start) != time.Hour {
			t.Fatalf("got %d leases, %v, %v after %v; want the URL when it was added", len(leases), idle, err, time.Since(start))
		}
		if n := s.takes.Load(); n > 3 {
			t.Errorf("got %d takes in an hour of waiting; want at most 3", n)
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

func TestLeaseWaitEndsWithItsContextAndWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{})
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if _, _, err := f.LeaseWait(ctx, LeaseRequest{}, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want the error of the context", err)
		}
		time.AfterFunc(time.Minute, func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		if _, _, err := f.LeaseWait(bg, LeaseRequest{}, false); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v; want store.ErrClosed", err)
		}
	})
}
