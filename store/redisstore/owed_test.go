package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// seeUnpromised has a daemon record keys whose answer no replica confirms, so that the call fails.
func seeUnpromised(t *testing.T, s *Store, keys []store.Key) {
	t.Helper()
	s.opt.Replicas, s.opt.waitTimeout = 1, 10*time.Millisecond
	defer func() { s.opt.Replicas, s.opt.waitTimeout = 0, time.Second }()
	if err := s.See(t.Context(), "c", keys, make([]bool, len(keys)), store.SeeOptions{}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got error %v; want %v", err, store.ErrUnavailable)
	}
}

// sees checks whether a daemon reports all of the keys as new, or none.
func sees(t *testing.T, s *Store, keys []store.Key, want bool) {
	t.Helper()
	fresh := make([]bool, len(keys))
	must(true, s.See(t.Context(), "c", keys, fresh, store.SeeOptions{}))(t)
	for i := range fresh {
		if fresh[i] != want {
			t.Fatalf("got new %v; want %v for all", fresh, want)
		}
	}
}

// loseWrites deletes the seen keys of crawl c and all kept answers, as a failover to a replica that lacks them does.
func loseWrites(t *testing.T, s *Store) {
	t.Helper()
	for _, pattern := range []string{"*}h*", "*}r*"} {
		keys := must(only(t, s).Keys(t.Context(), s.opt.Prefix+pattern).Result())(t)
		must(only(t, s).Del(t.Context(), keys...).Result())(t)
	}
}

// owing returns two daemons of one store, and keys that the first recorded in a call that failed.
func owing(t *testing.T) (a, b *Store, keys []store.Key) {
	t.Helper()
	o := testOptions(rediscluster.Single(t), 4)
	a, b = open(t, o), open(t, o)
	t.Cleanup(func() { closeAll(t, a, b) })
	keys = keysOf([]store.Item{testItem(1, ""), testItem(2, ""), testItem(3, "")})
	seeUnpromised(t, a, keys)
	return a, b, keys
}

// TestASeeThatFailedSaysNewLater has the same keys seen again, by the daemon whose call failed: new, once.
func TestASeeThatFailedSaysNewLater(t *testing.T) {
	a, _, keys := owing(t)
	sees(t, a, keys, true)
	sees(t, a, keys, false)
}

// TestAFailedSeeWhoseKeysWereLost loses what the failed call wrote. Another daemon then reports the keys as new, and the first
// must not.
func TestAFailedSeeWhoseKeysWereLost(t *testing.T) {
	a, b, keys := owing(t)
	loseWrites(t, a)
	sees(t, b, keys, true)
	sees(t, a, keys, false)
}

// TestNewSettlesAFailedSee loses what the failed call wrote. The daemon records the keys again, and reports that once.
func TestNewSettlesAFailedSee(t *testing.T) {
	a, _, keys := owing(t)
	loseWrites(t, a)
	sees(t, a, keys, true)
	sees(t, a, keys, false)
}

// TestForgetCancelsAFailedSee forgets the keys of the failed call by another daemon, which then reports them as new.
func TestForgetCancelsAFailedSee(t *testing.T) {
	for name, sel := range map[string]store.Selection{"keys": {Crawl: "c"}, "crawl": {Crawl: "c"}} {
		t.Run(name, func(t *testing.T) {
			a, b, keys := owing(t)
			if name == "keys" {
				sel.Keys = keys
			}
			if n := must(b.Forget(t.Context(), sel))(t); n != 3 {
				t.Fatalf("got %d keys forgotten; want 3", n)
			}
			sees(t, b, keys, true)
			sees(t, a, keys, false)
		})
	}
}

// TestAKnownKeyIsOwedNevertheless has the daemon learn that the keys are known, by an add with a queue, before it sees them again.
func TestAKnownKeyIsOwedNevertheless(t *testing.T) {
	a, _, keys := owing(t)
	for range 2 {
		for _, v := range must(a.Add(t.Context(), "c", []store.Item{testItem(1, "q"), testItem(2, "q"), testItem(3, "q")}, store.AddOptions{}))(t) {
			if v.Status != store.Duplicate {
				t.Fatalf("got %v; want a duplicate", v.Status)
			}
		}
	}
	sees(t, a, keys, true)
	sees(t, a, keys, false)
}

// TestAnAddThatFailsLaterOwesItsNewKeys fails an add at a queue's home, after keys without a queue were recorded as new.
func TestAnAddThatFailsLaterOwesItsNewKeys(t *testing.T) {
	s := open(t, testOptions(rediscluster.Single(t), 8))
	defer s.Close()
	ctx := t.Context()
	home, _ := s.layout.ofQueue("q")
	var items []store.Item
	for n := 0; len(items) < 20; n++ {
		it := testItem(n, "")
		if shard, _ := s.layout.ofKey(&it.Key); shard != home {
			items = append(items, it)
		}
	}
	items[0].Queue = "q"
	mark := s.layout.bases[home] + "b"
	must(only(t, s).Del(ctx, mark).Result())(t)
	if _, err := s.Add(ctx, "c", items, store.AddOptions{}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("got error %v; want %v", err, store.ErrCorrupt)
	}
	must(only(t, s).Set(ctx, mark, s.layout.mark, 0).Result())(t)
	for i, v := range must(s.Add(ctx, "c", items, store.AddOptions{}))(t) {
		if want := i > 0; (v.Status == store.New) != want {
			t.Errorf("item %d: got %v; want new: %v", i, v.Status, want)
		}
	}
	sees(t, s, keysOf(items), false)
}
