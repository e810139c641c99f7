package frontier

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store/memstore"
)

// wallClock is a clock that can be set, over one that can't.
type wallClock struct{ off atomic.Int64 }

func (c *wallClock) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.off.Load()))
}

func (c *wallClock) set(d time.Duration) { c.off.Store(int64(d)) }

const year = 365 * 24 * time.Hour

func openWithClock(t *testing.T, opt Options) (*Frontier, *wallClock) {
	c := new(wallClock)
	s := memstore.New(memstore.Options{Clock: c.now})
	f := openOn(t, s, opt)
	f.clock = c.now
	t.Cleanup(func() { must(t, s.Close()) })
	return f, c
}

// TestAWaitingCallSeesThatTheClockWasSet corrects the clock while a call waits.
func TestAWaitingCallSeesThatTheClockWasSet(t *testing.T) {
	for name, off := range map[string]time.Duration{"it was behind": -year, "it was ahead": year} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := openWithClock(t, Options{Delay: time.Minute})
				addOne(t, f, Link{URL: "http://a.example/1"})
				addOne(t, f, Link{URL: "http://a.example/2", Due: time.Now().Add(time.Minute)})
				if off > 0 { // then it was served at that time
					c.set(off)
				}
				must(t, f.Done(bg, leaseOne(t, f)))
				c.set(off)
				start := time.Now()
				time.AfterFunc(30*time.Second, func() { c.set(0) })
				_, err := f.Next(bg)
				must(t, err)
				if waited := time.Since(start); waited > 2*time.Minute {
					t.Errorf("waited for %v; want at most the delay from when the clock was put right", waited)
				}
			})
		})
	}
}

// A call that waits looks at the clock, and asks the store no more often for that.
func TestWaitingForATimeDoesNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		f := openOn(t, s, Options{})
		addOne(t, f, Link{URL: "http://a.example/", Due: time.Now().Add(time.Hour)})
		start := time.Now()
		leases, _, err := f.LeaseWait(bg, LeaseRequest{}, false)
		if err != nil || len(leases) != 1 || time.Since(start) != time.Hour {
			t.Errorf("got %d leases, %v after %v; want the URL when it is due", len(leases), err, time.Since(start))
		}
		if n := s.takes.Load(); n > 3 {
			t.Errorf("got %d takes in an hour of waiting; want at most 3", n)
		}
	})
}

// The store's clock may be another than that of the process: that of a server.
func TestLeasesRunByTheStoresClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			f, c := openWithClock(t, Options{Delay: -1, MaxInFlight: -1, RetryAfter: time.Minute})
			c.set(off)
			for _, hold := range []func(l *Lease) error{
				func(l *Lease) error { return extend(f, l, time.Time{}) },
				func(l *Lease) error { _, err := f.Redirect(bg, l, l.URL+"#followed"); return err },
				func(l *Lease) error { _, err := f.Retry(bg, l, time.Time{}); return err },
			} {
				addOne(t, f, Link{URL: "http://a.example/", Force: true})
				l := leaseOne(t, f)
				must(t, hold(l))
				leaseNone(t, f)
				time.Sleep(time.Minute - time.Second)
				leaseNone(t, f)
				time.Sleep(time.Minute + 2*time.Second)
				must(t, f.Done(bg, leaseOne(t, f)))
			}
		})
	}
}
