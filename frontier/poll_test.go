package frontier

import (
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
