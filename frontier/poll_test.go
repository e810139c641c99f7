package frontier

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

// sharedStore is a store that other processes also write to.
type sharedStore struct{ store.Store }

func (sharedStore) Shared() bool { return true }

// TestSharedStoresArePolled opens two frontiers on one store, as in two processes: neither is
// notified of the other's changes.
func TestSharedStoresArePolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedStore{newCountingStore()}
		a, b := openOn(t, s, Options{}), openOn(t, s, Options{})
		start := time.Now()
		time.AfterFunc(time.Hour+time.Millisecond, func() { addOne(t, b, Link{URL: "http://a.example/"}) })
		leases, _, err := a.LeaseWait(bg, LeaseRequest{Max: 5}, false)
		if waited := time.Since(start); err != nil || len(leases) != 1 || waited > time.Hour+time.Second {
			t.Errorf("got %d leases, %v after %v; want the URL within a second", len(leases), err, waited)
		}
	})
}

// TestRuleTakenBackElsewhere: what another frontier of the store includes again is not forgotten by a rule that was read before.
func TestRuleTakenBackElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedStore{newCountingStore()}
		a := openOn(t, s, Options{Delay: -1, MaxInFlight: -1})
		_, err := a.Exclude(bg, "", "q.example")
		must(t, err)
		must(t, a.WaitExcluded(bg))
		b := openOn(t, s, Options{Delay: -1})
		_, err = b.Include(bg, "", "q.example")
		must(t, err)
		addAll(t, b, Link{URL: "http://q.example/1"}, Link{URL: "http://q.example/2"})
		l := leaseOne(t, a)
		must(t, a.Release(bg, l))
		must(t, a.WaitExcluded(bg))
		if leases := leaseUpTo(t, a, 2); len(leases) != 2 {
			t.Errorf("got %d leases; want 2", len(leases))
		}
	})
}

// TestForgettingOfAKilledFrontier: what a frontier excluded and did not forget before it was killed is forgotten when the rule is given again, or
// when a frontier of the store opens, even if another one forgot in the meantime what itself had excluded.
func TestForgettingOfAKilledFrontier(t *testing.T) {
	for at := time.Duration(0); at < 25*time.Second; at += time.Second { // before, within and after the pass of the other
		synctest.Test(t, func(t *testing.T) {
			slow := &slowStore{Store: newCountingStore()}
			s := sharedStore{slow}
			a := openOn(t, s, Options{Delay: -1})
			addAll(t, a, Link{URL: "http://q.example/1", Due: time.Now().Add(24 * time.Hour)})
			slow.entries.Store(int64(12 * time.Second))
			_, err := a.Exclude(bg, "", "x.example")
			must(t, err)
			time.Sleep(at)
			b := openOn(t, s, Options{Delay: -1})
			_, err = b.Exclude(bg, "", "q.example")
			must(t, err)
			must(t, b.Close()) // it looks for nothing within the first seconds
			must(t, a.WaitExcluded(bg))
			if at/time.Second%2 == 0 {
				_, err = a.Exclude(bg, "", "q.example")
				must(t, err)
				must(t, a.WaitExcluded(bg))
			} else {
				must(t, openOn(t, s, Options{Delay: -1}).WaitExcluded(bg))
			}
			if st, err := a.Stats(bg, ""); err != nil || st.Held != 0 {
				t.Errorf("rule after %v: got %d held, %v; want none", at, st.Held, err)
			}
			if left, err := a.loadExclusions(bg); err != nil || len(left) > 0 {
				t.Errorf("rule after %v: got %v, %v to be forgotten; want none", at, left, err)
			}
		})
	}
}

// TestForgettingOfManyCrawls: crawls that get rules at the same time wait together until other frontiers know these, and rules that are taken back
// meanwhile leave no mark.
func TestForgettingOfManyCrawls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := openOn(t, sharedStore{newCountingStore()}, Options{Delay: -1})
		began := time.Now()
		for i := range 20 {
			_, err := a.Exclude(bg, fmt.Sprint("crawl", i), "x.example", "y.example")
			must(t, err)
		}
		time.Sleep(time.Second)
		_, err := a.Include(bg, "crawl7", "y.example")
		must(t, err)
		must(t, a.WaitExcluded(bg))
		if took := time.Since(began); took > 2*exclusionsKnown {
			t.Errorf("got all forgotten after %v; want one wait of %v", took, exclusionsKnown)
		}
		if left, err := a.loadExclusions(bg); err != nil || len(left) > 0 {
			t.Errorf("got %v, %v to be forgotten; want none", left, err)
		}
	})
}

// slowStore takes its time to end a listing.
type slowStore struct {
	store.Store
	entries atomic.Int64
}

func (s *slowStore) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.Entries(ctx, crawl, queue) {
			if !yield(e, err) {
				return
			}
		}
		time.Sleep(time.Duration(s.entries.Load()))
	}
}

// TestOffersBetweenARuleAndItsReading: what a frontier queues before it reads the rule of another one is forgotten too, although nobody
// takes it.
func TestOffersBetweenARuleAndItsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedStore{newCountingStore()}
		a, b := openOn(t, s, Options{}), openOn(t, s, Options{Delay: -1})
		time.Sleep(100 * time.Millisecond) // they read at different times
		_, err := a.Exclude(bg, "", "q.example")
		must(t, err)
		time.Sleep(time.Second) // a has gone through the crawl
		addAll(t, b, Link{URL: "http://q.example/1", Due: time.Now().Add(24 * time.Hour)}, Link{URL: "http://q.example/2"})
		l := leaseOne(t, b)
		must(t, a.WaitExcluded(bg))
		if st, err := b.Stats(bg, ""); err != nil || st.Held != 1 {
			t.Errorf("got %+v, %v; want the leased URL alone", st, err)
		}
		if r := addAll(t, b, Link{URL: "http://q.example/3"}); r[0].Reason != ReasonExcluded {
			t.Errorf("got %+v; want it excluded", r[0])
		}
		_, err = b.Retry(bg, l, time.Time{})
		must(t, err)
		leaseNone(t, b)
		if st, err := b.Stats(bg, ""); err != nil || st.Held != 0 {
			t.Errorf("got %+v, %v; want nothing to be stuck", st, err)
		}
	})
}
