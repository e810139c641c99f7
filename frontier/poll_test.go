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

// TestForgettingIsTakenOver: of two frontiers on a store one records a rule and ends, as if killed, before it has forgotten what is excluded. The
// other one does so within half a minute, and not while the first still works, however long that takes.
func TestForgettingIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowStore{Store: newCountingStore()}
		s := sharedStore{slow}
		later := func(n int) Link {
			return Link{URL: fmt.Sprint("http://q.example/", n), Due: time.Now().Add(24 * time.Hour)}
		}
		a, b := openOn(t, s, Options{Delay: -1}), openOn(t, s, Options{Delay: -1})
		held := func(want int64) {
			t.Helper()
			if st, err := b.Stats(bg, ""); err != nil || st.Held != want {
				t.Errorf("got %d held, %v; want %d", st.Held, err, want)
			}
		}
		addAll(t, a, later(1), later(2))
		must(t, setForgetting(bg, s, "DEFAULT", 1))
		must(t, keepRule(bg, s, "DEFAULT", "q.example", true))
		must(t, a.Close())
		time.Sleep(30 * time.Second)
		held(0)
		must(t, b.WaitExcluded(bg))
		if left, err := b.loadExclusions(bg); err != nil || len(left) > 0 {
			t.Errorf("got %v, %v to be forgotten; want none", left, err)
		}

		a = openOn(t, s, Options{Delay: -1})
		addAll(t, a, Link{URL: "http://r.example/1"})
		slow.entries.Store(int64(5 * time.Minute))
		before := slow.listed.Load()
		_, err := a.Exclude(bg, "", "r.example")
		must(t, err)
		time.Sleep(4 * time.Minute)
		if n := slow.listed.Load() - before; n != 1 {
			t.Errorf("got %d frontiers that look for URLs; want the one that began", n)
		}
		slow.entries.Store(0)
		must(t, a.WaitExcluded(bg))
		held(0)
	})
}

// TestForgettingOfAnotherIsKept: a frontier that has forgotten what it excluded, late or while another one adds a rule, does not take back what
// the other one recorded: that one is killed before it forgets anything, and the first does so in its place.
func TestForgettingOfAnotherIsKept(t *testing.T) {
	for at := 5 * time.Second; at < 25*time.Second; at += time.Second { // before, between and after beats and passes
		synctest.Test(t, func(t *testing.T) {
			slow := &slowStore{Store: newCountingStore()}
			s := sharedStore{slow}
			a := openOn(t, s, Options{Delay: -1})
			later := Link{URL: "http://q.example/1", Due: time.Now().Add(24 * time.Hour)}
			addAll(t, a, later)
			slow.entries.Store(int64(12 * time.Second))
			_, err := a.Exclude(bg, "", "x.example")
			must(t, err)
			time.Sleep(at)
			b := openOn(t, s, Options{Delay: -1})
			_, err = b.Exclude(bg, "", "q.example")
			must(t, err)
			must(t, b.Close()) // it looks for nothing within the first seconds
			time.Sleep(2 * time.Minute)
			must(t, a.WaitExcluded(bg))
			if st, err := a.Stats(bg, ""); err != nil || st.Held != 0 {
				t.Errorf("rule after %v: got %d held, %v; want none", at, st.Held, err)
			}
			if left, err := a.loadExclusions(bg); err != nil || len(left) > 0 {
				t.Errorf("rule after %v: got %v, %v to be forgotten; want none", at, left, err)
			}
		})
	}
}

// slowStore takes its time to end a listing.
type slowStore struct {
	store.Store
	entries, listed atomic.Int64
}

func (s *slowStore) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	s.listed.Add(1)
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
