package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestBatchesInParts: batches that are done in many parts have the answers of memstore, which does them in one: with caps, equal
// keys, forced URLs, queues that hold nothing and have to be read, and settlements that follow on each other.
func TestBatchesInParts(t *testing.T) {
	clock := newStepClock()
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), KeepURLs: true, Clock: clock.Now, tuning: tuning{monotonic: slowParts()}})
	defer s.Close()
	model := memstore.New(memstore.Options{KeepURLs: true, Clock: clock.Now})
	rng := newRand(5)
	var most int64 // parts of an Add
	for round := range 6 {
		clock.step(time.Minute)
		items := make([]store.Item, 6000)
		for i := range items {
			k := rng.IntN(9000) + 2000*round
			items[i] = store.Item{Key: testKey(k), Queue: fmt.Sprint("q", rng.IntN(1500)), URL: fmt.Sprintf("http://a/%d/%d", round, i), Force: rng.IntN(9) == 0}
			if rng.IntN(50) == 0 {
				items[i].Queue = ""
			}
		}
		opt := store.AddOptions{WantFirst: true, MaxPerQueue: int64(3 + round), MaxHeld: 7000}
		before := s.accepted.Load()
		got, err := s.Add(t.Context(), "", items, opt)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, s.accepted.Load()-before)
		want, err := model.Add(t.Context(), "", items, opt)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("round %d, item %d: got %+v; want %+v", round, i, got[i], want[i])
			}
		}
		list := make([]store.Settlement, 5000)
		for i := range list {
			list[i] = store.Settlement{Key: testKey(rng.IntN(9000) + 2000*round), Outcome: []store.Outcome{store.Complete, store.Drop, store.Requeue}[rng.IntN(3)]}
		}
		if round%2 == 1 { // then all queues hold nothing, and the next Add has to read their rows
			for k := range 9000 + 2000*round {
				list = append(list, store.Settlement{Key: testKey(k), Outcome: store.Drop})
			}
		}
		answers, err := s.Settle(t.Context(), "", list)
		if err != nil {
			t.Fatal(err)
		}
		wantAnswers, err := model.Settle(t.Context(), "", list)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(answers, wantAnswers) {
			t.Fatalf("round %d: the settlements have other answers", round)
		}
		st, err := s.Stats(t.Context(), "")
		wantStats, _ := model.Stats(t.Context(), "")
		if err != nil || st != wantStats {
			t.Fatalf("round %d: got %+v, %v; want %+v", round, st, err, wantStats)
		}
	}
	if most < 4 {
		t.Errorf("got at most %d parts of an Add; want at least 4", most)
	}
	wantSound(t, s)
}

// TestAddsOfIdleQueues: a part ends where too many queues have to be read, or where one can't be. What the index learned beyond
// that is not known.
func TestAddsOfIdleQueues(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	const n = 3 * firstRows
	items := make([]store.Item, n)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: fmt.Sprint("q", i), URL: "u"}
	}
	for round := range 2 { // the second meets queues that hold nothing
		before := s.accepted.Load()
		got, err := s.Add(t.Context(), "", items, store.AddOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if parts := s.accepted.Load() - before; round > 0 && parts < 2 {
			t.Errorf("got %d parts; want at least 2", parts)
		}
		list := make([]store.Settlement, n)
		for i, v := range got {
			if v.Status != store.New {
				t.Fatalf("item %d: got %+v; want it new", i, v)
			}
			list[i] = store.Settlement{Key: items[i].Key}
			items[i].Key = testKey((round+1)*n + i)
		}
		if _, err := s.Settle(t.Context(), "", list); err != nil {
			t.Fatal(err)
		}
	}
	corrupt := appendQueueRow(nil, s.crawls[store.DefaultCrawl].num, "q7")
	if err := s.db.Set(corrupt, []byte{0xff}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("got %v; want ErrCorrupt", err)
	}
	see := make([]bool, n)
	keys := make([]store.Key, n)
	for i := range keys {
		keys[i] = items[i].Key
	}
	if err := s.See(t.Context(), "", keys, see, store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range see {
		if !see[i] {
			t.Fatalf("key %d of an Add that failed is known", i)
		}
	}
}

// TestPaceOfAdds: on a slower machine than firstPace has, parts take as long as their groups may, as soon as one was measured.
func TestPaceOfAdds(t *testing.T) {
	const each = 9 * time.Microsecond // of a new URL
	var s *Store
	var took []time.Duration
	opt := Options{FS: vfs.NewMem()}
	opt.monotonic = func() time.Duration {
		if s == nil || s.crawls[store.DefaultCrawl] == nil {
			return 0
		}
		return time.Duration(s.crawls[store.DefaultCrawl].queues.Held) * each
	}
	opt.observe = func(g groupInfo) { took = append(took, g.busy) }
	s = mustOpen(t, "db", opt)
	items := make([]store.Item, 20_000)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: "q", URL: "u"}
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if most := slices.Max(took); most > groupTime+groupTime/20 || len(took) > 12 {
		t.Errorf("got %d groups of %v; want at most 12 of %v each", len(took), took, groupTime)
	}
}

// TestForcedAddsInParts: each known key that is forced has to be found, so a part has fewer of them than of new ones.
func TestForcedAddsInParts(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	const n = urlsOfRow * firstRows // as many new ones may be one part
	see(t, s, "", testKeys(0, n))
	items := make([]store.Item, n)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: "q", URL: "u", Force: true}
	}
	before := s.accepted.Load()
	got, err := s.Add(t.Context(), "", items, store.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v.Status != store.Duplicate || !v.Requeued {
			t.Fatalf("item %d: got %+v; want it queued again", i, v)
		}
	}
	if parts := s.accepted.Load() - before; parts < 3 {
		t.Errorf("got %d parts; want at least 3", parts)
	}
	wantSound(t, s)
}

// TestSeeInParts: a See of very many keys answers as one step would.
func TestSeeInParts(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	const n = 3 * seenOfRow * firstRows
	keys := append(testKeys(0, n), testKeys(n/2, n+10)...)
	fresh := make([]bool, len(keys))
	before := s.accepted.Load()
	if err := s.See(t.Context(), "", keys, fresh, store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	if parts := s.accepted.Load() - before; parts < 3 {
		t.Errorf("got %d parts; want at least 3", parts)
	}
	for i := range keys {
		if want := i < n || i >= len(keys)-10; fresh[i] != want {
			t.Fatalf("key %d: got new %v; want %v", i, fresh[i], want)
		}
	}
	wantSeen(t, s, "", n+10)
}

// manyParts is a step of many parts, or of any number.
type manyParts struct {
	more  error
	parts int
	all   int    // 0: it never ends by itself
	first func() // called by the first part
}

func (o *manyParts) apply(*txn) error {
	if o.parts++; o.parts == 1 {
		o.first()
	}
	if o.parts == o.all {
		return nil
	}
	return o.more
}

// TestContextBetweenParts: when the context of a call ends between two parts, a work that may be left undone is, and one that has to be done
// is done.
func TestContextBetweenParts(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.do(ctx, 1, (&manyParts{more: errMore, first: cancel}).apply); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of a work without an end; want Canceled", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	if o := (&manyParts{more: errRest, all: 1000, first: cancel}); s.do(ctx, firstRows, o.apply) != nil || o.parts != o.all {
		t.Errorf("got %d parts; want all %d", o.parts, o.all)
	}
}

// TestCloseBetweenParts: Close ends a work that may be left undone, and waits for one that has to be done.
func TestCloseBetweenParts(t *testing.T) {
	for _, c := range []struct{ more, want error }{{errMore, store.ErrClosed}, {errRest, nil}} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
		closed := make(chan error, 1)
		o := &manyParts{more: c.more, all: 1000, first: func() {
			go func() { closed <- s.Close() }()
			<-s.closing
		}}
		if err := s.do(t.Context(), firstRows, o.apply); !errors.Is(err, c.want) {
			t.Errorf("%v: got %v; want %v", c.more, err, c.want)
		}
		if want := map[error]int{errMore: 1, errRest: o.all}[c.more]; o.parts != want {
			t.Errorf("%v: got %d parts; want %d", c.more, o.parts, want)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}

// TestKeysOfARetiredQueue: while a queue is being forgotten, a key of it that is recorded again in another way stays: forgotten by name and
// seen; queued elsewhere and completed, with and without a row of its place before; queued elsewhere and held.
func TestKeysOfARetiredQueue(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, kept := range []int{100, 100_000} {
			s := mustOpen(t, "db", Options{FS: vfs.NewMem(), KeepURLs: keep, tuning: tuning{keptPlaces: kept}})
			addQueued(t, s, "a", 0, 1000)
			o := &forgetOp{sel: store.Selection{Queue: "a"}}
			if err := onePart(s, o.apply, 100); err != errMore || len(o.left) != 1 {
				t.Fatalf("got %v, %d queues left; want one", err, len(o.left))
			}
			items := make([]store.Item, 0, 20)
			for i := 980; i < 1000; i++ {
				items = append(items, store.Item{Key: testKey(i), Queue: "b", URL: "u", Force: true})
			}
			addItems(t, s, items)
			got, err := s.Take(t.Context(), store.TakeRequest{Queue: "b", MaxURLs: 10, MaxPerQueue: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range got.Leases {
				if _, err := s.Settle(t.Context(), "", []store.Settlement{{Key: l.Key, Token: l.Token}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.do(t.Context(), firstRows, o.apply); err != nil {
				t.Fatal(err)
			}
			if n := see(t, s, "", testKeys(980, 1000)); n != 0 {
				t.Errorf("keep %v, %d places: got %d keys new that were queued elsewhere; want none", keep, kept, n)
			}
			if n := see(t, s, "", testKeys(0, 980)); n != 980 {
				t.Errorf("keep %v, %d places: got %d keys new; want the 980 that were forgotten", keep, kept, n)
			}
			wantSound(t, s)

			addQueued(t, s, "c", 10_000, 11_000)
			o = &forgetOp{sel: store.Selection{Queue: "c"}}
			if err := onePart(s, o.apply, 100); err != errMore {
				t.Fatal(err)
			}
			if n := forget(t, s, store.Selection{Keys: testKeys(10_990, 11_000)}); n != 10 {
				t.Fatalf("got %d forgotten; want 10", n)
			}
			see(t, s, "", testKeys(10_990, 11_000))
			if err := s.do(t.Context(), firstRows, o.apply); err != nil {
				t.Fatal(err)
			}
			if n := see(t, s, "", testKeys(10_990, 11_000)); n != 0 {
				t.Errorf("keep %v, %d places: got %d keys new that were seen while their queue was forgotten; want none", keep, kept, n)
			}
			wantSound(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestIndexComesBack: an index that is within its budget when the store is closed answers after the next Open.
func TestIndexComesBack(t *testing.T) {
	for _, n := range []int{1000, 60_000, 200_000} {
		fs := vfs.NewMem()
		s := mustOpen(t, "db", Options{FS: fs})
		for i := 0; i < n; i += 10_000 {
			see(t, s, "", testKeys(i, min(n, i+10_000)))
		}
		budget := s.Index().Bytes
		opt := Options{FS: fs, IndexBytes: budget}
		s = reopen(t, s, "db", opt)
		idle(t, s, func() bool { return !s.Index().Filling })
		for range 3 * budgetGroups {
			see(t, s, "", testKeys(0, 10))
		}
		if info := s.Index(); !info.Fingerprints {
			t.Errorf("%d keys: got %+v with a budget of %d; want the index that it had", n, info, budget)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// compactAll brings all rows of a table to the last level.
func compactAll(t *testing.T, db *pebble.DB, table byte) {
	t.Helper()
	if err := errors.Join(db.Flush(), db.Compact(t.Context(), []byte{table}, rowBound(table), false)); err != nil {
		t.Fatal(err)
	}
}

// TestExtendedLeases: the row of a lease that was extended, which was set more than once, does not come back when the lease has ended.
func TestExtendedLeases(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	addQueued(t, s, "a", 0, 50)
	leases := takeSome(t, s, 50)
	settle := func(o store.Outcome) {
		list := make([]store.Settlement, len(leases))
		for i, l := range leases {
			list[i] = store.Settlement{Key: l.Key, Token: l.Token, Outcome: o, After: time.Hour}
		}
		if _, err := s.Settle(t.Context(), "", list); err != nil {
			t.Fatal(err)
		}
		compactAll(t, s.db, tableLease)
	}
	settle(store.Extend)
	s = reopen(t, s, "db", opt)
	settle(store.Extend)
	settle(store.Extend)
	settle(store.Complete)
	if n := rowsOf(t, s, tableLease); n != 0 {
		t.Errorf("got %d rows of leases that have ended", n)
	}
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantStats(t, s, store.Stats{Seen: 50, Completed: 50, Queues: 1})
	wantSound(t, s)
}

// TestUpgradedLeases: rows of leases that format 3 set twice do not come back after an upgrade.
func TestUpgradedLeases(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	row := appendLongRow(nil, tableLease, 1<<40)
	for range 2 {
		if err := errors.Join(s.db.Set(row, []byte("value"), pebble.Sync), s.db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join((&upgrading{}).leases(s.db), s.db.Flush(), s.db.SingleDelete(row, pebble.Sync)); err != nil {
		t.Fatal(err)
	}
	compactAll(t, s.db, tableLease)
	if n := rowsOf(t, s, tableLease); n != 0 {
		t.Errorf("got %d rows; want none", n)
	}
}
