package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestForgottenTwiceIsNewOnce: a key of a queue that is being forgotten is queued elsewhere, forgotten there in another way, and seen
// again. It was told "new", so the rest of the first queue must leave it alone.
func TestForgottenTwiceIsNewOnce(t *testing.T) {
	complete := func(t *testing.T, s *Store, clock *stepClock, again []store.Key) {
		got, err := s.Take(t.Context(), store.TakeRequest{Queue: "b", MaxURLs: 100, MaxPerQueue: 100})
		if err != nil {
			t.Fatal(err)
		}
		list := make([]store.Settlement, len(got.Leases))
		for i, l := range got.Leases {
			list[i] = store.Settlement{Key: l.Key, Token: l.Token}
		}
		if _, err := s.Settle(t.Context(), "", list); err != nil {
			t.Fatal(err)
		}
	}
	for name, forgets := range map[string]func(*testing.T, *Store, *stepClock, []store.Key){
		"its queue": func(t *testing.T, s *Store, clock *stepClock, again []store.Key) {
			forget(t, s, store.Selection{Queue: "b"})
		},
		"its queue, in parts": func(t *testing.T, s *Store, clock *stepClock, again []store.Key) {
			o := &forgetOp{sel: store.Selection{Queue: "b"}}
			for err := errMore; err != nil; {
				if err = onePart(s, o.apply, 3); err != nil && err != errMore {
					t.Fatal(err)
				}
			}
		},
		"by name": func(t *testing.T, s *Store, clock *stepClock, again []store.Key) {
			forget(t, s, store.Selection{Keys: again})
		},
		"by age": func(t *testing.T, s *Store, clock *stepClock, again []store.Key) {
			complete(t, s, clock, again)
			flushRuns(t, s)
			forget(t, s, store.Selection{Before: clock.Now().Add(1)})
		},
	} {
		for _, keep := range []bool{false, true} {
			clock := newStepClock()
			s := mustOpen(t, "db", Options{FS: vfs.NewMem(), KeepURLs: keep, Clock: clock.Now})
			addQueued(t, s, "a", 0, 1000)
			o := &forgetOp{sel: store.Selection{Queue: "a"}}
			if err := onePart(s, o.apply, 100); err != errMore || len(o.left) != 1 {
				t.Fatalf("got %v, %d queues left; want one", err, len(o.left))
			}
			again := testKeys(980, 1000)
			items := make([]store.Item, len(again))
			for i, k := range again {
				items[i] = store.Item{Key: k, Queue: "b", URL: "u", Force: true}
			}
			addItems(t, s, items)
			forgets(t, s, clock, again)
			if n := see(t, s, "", again); n != len(again) {
				t.Fatalf("%s, keep %v: got %d of %d new after they were forgotten", name, keep, n, len(again))
			}
			if err := s.do(t.Context(), firstRows, o.apply); err != nil {
				t.Fatal(err)
			}
			if n := see(t, s, "", again); n != 0 {
				t.Errorf("%s, keep %v: got %d keys told new twice", name, keep, n)
			}
			wantSound(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestJournalOfPlacesIsTrusted: the places of a retired queue need not be read one by one because another queue was forgotten whose
// URLs it never had.
func TestJournalOfPlacesIsTrusted(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	addQueued(t, s, "a", 0, 1000)
	addQueued(t, s, "b", 5000, 5100)
	o := &forgetOp{sel: store.Selection{Queue: "a"}}
	if err := onePart(s, o.apply, 100); err != errMore {
		t.Fatal(err)
	}
	forget(t, s, store.Selection{Queue: "b"})
	if o.left[0].since == 0 {
		t.Error("the places of a are not trusted any more")
	}
	if err := s.do(t.Context(), firstRows, o.apply); err != nil {
		t.Fatal(err)
	}
	wantSound(t, s)
}

// TestPlacesThatLeftTheJournalAreRead: while a queue is forgotten, so much is queued that the journal of places no longer has those
// of its keys that were queued elsewhere since. They have rows then, and the keys stay.
func TestPlacesThatLeftTheJournalAreRead(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{keptPlaces: 50}})
	defer s.Close()
	addQueued(t, s, "a", 0, 1000)
	o := &forgetOp{sel: store.Selection{Queue: "a"}}
	if err := onePart(s, o.apply, 100); err != errMore {
		t.Fatal(err)
	}
	again := testKeys(980, 1000)
	items := make([]store.Item, len(again))
	for i, k := range again {
		items[i] = store.Item{Key: k, Queue: "b", URL: "u", Force: true}
	}
	addItems(t, s, items)
	for i := range 100 {
		addQueued(t, s, "c", 10_000+10*i, 10_000+10*i+10)
	}
	if err := s.do(t.Context(), firstRows, o.apply); err != nil {
		t.Fatal(err)
	}
	if n := see(t, s, "", again); n != 0 {
		t.Errorf("got %d of %d keys forgotten that were queued elsewhere", n, len(again))
	}
	wantSound(t, s)
}
