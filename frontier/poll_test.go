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
