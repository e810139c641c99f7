package pebblestore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// held opens a store with two queued URLs and a leased one, whose index is not
// filled before hold is closed.
func held(t *testing.T) (s *Store, leased store.Lease, hold chan struct{}) {
	t.Helper()
	fs := vfs.NewMem()
	s = mustOpen(t, "db", Options{FS: fs, Identity: testIdentity})
	var items []store.Item
	for i, host := range []string{"a", "b", "c"} {
		items = append(items, store.Item{Key: testKey(i), Queue: host, URL: "http://" + host + "/"})
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	leased = takeOne(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	hold = make(chan struct{})
	return mustOpen(t, "db", Options{FS: fs, Identity: testIdentity, LoadBehind: true, holdLoad: hold}), leased, hold
}

func takeOne(t *testing.T, s *Store) store.Lease {
	t.Helper()
	taken, err := s.Take(t.Context(), store.TakeRequest{})
	if err != nil || len(taken.Leases) != 1 {
		t.Fatalf("got %d leases, %v; want 1", len(taken.Leases), err)
	}
	return taken.Leases[0]
}

func settleOne(t *testing.T, s *Store, st store.Settlement) store.SettleStatus {
	t.Helper()
	answers, err := s.Settle(t.Context(), "", []store.Settlement{st})
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}

// TestLeasesBeforeTheIndex shows what goes on while the index is filled.
func TestLeasesBeforeTheIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leased, hold := held(t)
		if l := takeOne(t, s); l.Key == leased.Key {
			t.Errorf("%s was handed out twice", l.URL)
		}
		done := store.Settlement{Key: leased.Key, Token: leased.Token}
		for i, want := range []store.SettleStatus{store.Settled, store.Stale} {
			if got := settleOne(t, s, done); got != want {
				t.Errorf("settlement %d: got %v; want %v", i, got, want)
			}
		}
		if got := settleOne(t, s, store.Settlement{Key: testKey(99), Token: 1}); got != store.Stale {
			t.Errorf("settlement of a key never seen: got %v; want stale", got)
		}
		if e, err := s.Lookup(t.Context(), "", leased.Key); err != nil || e.State != store.SeenOnly {
			t.Errorf("got state %v, %v of what was done; want seen", e.State, err)
		}
		paused := true
		if err := s.Configure(t.Context(), "other", "", store.QueueChange{Paused: &paused}); err != nil {
			t.Error(err)
		}

		answers := make(chan []bool)
		go func() {
			fresh := make([]bool, 4)
			if err := s.See(t.Context(), "", testKeys(0, 4), fresh, store.SeeOptions{}); err != nil {
				t.Error(err)
			}
			answers <- fresh
		}()
		synctest.Wait()
		select {
		case <-answers:
			t.Error("a key was judged before the index was there")
		default:
		}
		close(hold)
		if got := <-answers; got[0] || got[1] || got[2] || !got[3] {
			t.Errorf("got new %v; want only the last new", got)
		}
		if r, err := s.Verify(t.Context()); err != nil || len(r.Findings) > 0 {
			t.Errorf("verify: %v, %v", r.Findings, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestWaitingForTheIndexEnds ends what waits by its context and by Close.
func TestWaitingForTheIndexEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := held(t)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() { errs <- s.See(ctx, "", testKeys(0, 1), make([]bool, 1), store.SeeOptions{}) }()
		}
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want canceled", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-errs; !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v; want closed", err)
		}
	})
}

// TestLoadBehindRefusesWrongCounts makes a store whose count of keys is wrong:
// every step is refused once that is known.
func TestLoadBehindRefusesWrongCounts(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, "db", Options{FS: fs, Identity: testIdentity})
	see(t, s, "", testKeys(0, 10))
	g := s.crawls[store.DefaultCrawl].gens[0]
	row := appendSeenRow(nil, g.num, new(testKey(3)))
	if err := s.db.Delete(row, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, "db", Options{FS: fs, Identity: testIdentity, LoadBehind: true})
	if err := s.See(t.Context(), "", testKeys(0, 1), make([]bool, 1), store.SeeOptions{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v; want corrupt", err)
	}
	if _, err := s.Take(t.Context(), store.TakeRequest{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v; want corrupt", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
