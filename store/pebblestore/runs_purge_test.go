package pebblestore

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestHeldKeysMoveWhileTheIndexFills: a held key whose generation expires while the index
// is being filled is known afterwards.
func TestHeldKeysMoveWhileTheIndexFills(t *testing.T) {
	clock, hold := newStepClock(), make(chan struct{})
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: time.Hour, flushKeys: 100}}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, 200))
	flushRuns(t, s)
	opt.holdFill = hold
	s = reopen(t, s, "db", opt)
	defer s.Close()
	clock.step(2 * time.Hour)
	if n := forget(t, s, store.Selection{Before: clock.Now()}); n != 0 {
		t.Fatalf("got %d keys forgotten; want none, all are held", n)
	}
	close(hold)
	idle(t, s, func() bool { return !s.Index().Filling })
	if n := see(t, s, "", testKeys(0, 200)); n != 0 {
		t.Errorf("got %d held keys new; want none", n)
	}
}

// beginPurge opens a store without an index that is about to merge a generation of 300 keys
// without the first 200 of them.
func beginPurge(t *testing.T, opt Options) (*Store, *generation) {
	t.Helper()
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 300))
	flushRuns(t, s)
	s.mu.Lock()
	s.views++ // no purge by the keeper
	s.mu.Unlock()
	forget(t, s, store.Selection{Keys: testKeys(0, 200)})
	g := s.crawls[store.DefaultCrawl].gens[0]
	if err := s.read(t.Context(), func(*txn) error {
		g.purging, g.dead = g.dead, nil
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s, g
}

// purgeParts begins the merge of the runs of g.
func purgeParts(s *Store, g *generation) []*keyPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &keyPart{g: g, inputs: slices.Clone(g.runs), purge: true}
	p.begin()
	return []*keyPart{p}
}

// endPurge merges the runs of g.
func endPurge(t *testing.T, s *Store, g *generation) {
	t.Helper()
	parts := purgeParts(s, g)
	s.mu.Lock()
	s.views--
	s.mu.Unlock()
	if err := s.mergeParts(parts); err != nil {
		t.Fatal(err)
	}
}

// TestReviveBeforeAPurgeFlushes: keys that are recorded again between the begin of a purge
// and its flush are known after it, whatever answers.
func TestReviveBeforeAPurgeFlushes(t *testing.T) {
	for _, way := range waysToLookUp {
		t.Run(way.testName(), func(t *testing.T) {
			opt := way
			opt.FS, opt.flushKeys = vfs.NewMem(), 100
			s, g := beginPurge(t, opt)
			if n := see(t, s, "", testKeys(0, 100)); n != 100 {
				t.Errorf("got %d new; want 100", n)
			}
			flushRuns(t, s)
			endPurge(t, s, g)
			if n := see(t, s, "", testKeys(0, 300)); n != 100 {
				t.Errorf("got %d new; want the 100 that stayed forgotten", n)
			}
			wantSound(t, s)
			s = reopen(t, s, "db", opt)
			defer s.Close()
			wantSound(t, s)
		})
	}
}

// TestPurgeWaitsForLists checks that tombstones stay while keys are listed: no purge begins, and one that
// is under way leaves all as it was.
func TestPurgeWaitsForLists(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), IndexBytes: -1, tuning: tuning{flushKeys: 100}}
	s, g := beginPurge(t, opt)
	defer s.Close()
	if err := s.mergeParts(purgeParts(s, g)); !errors.Is(err, errViews) {
		t.Errorf("got %v; want %v", err, errViews)
	}
	if len(g.purging) != 200 {
		t.Errorf("got %d keys that are to be left out; want 200", len(g.purging))
	}
	endPurge(t, s, g)
	s.mu.Lock()
	list := s.holdRuns()
	s.mu.Unlock()
	forget(t, s, store.Selection{Keys: testKeys(200, 300)})
	s.mu.RLock()
	if s.mustPurge() {
		t.Error("a purge is due while keys are listed")
	}
	s.mu.RUnlock()
	list.release()
	idle(t, s, func() bool { // the purge follows
		s.mu.RLock()
		defer s.mu.RUnlock()
		return len(g.dead)+len(g.purging) == 0
	})
}

// TestPurgeWaitsForFlush checks that no purge begins while a key that it is to leave out is in packed rows.
func TestPurgeWaitsForFlush(t *testing.T) {
	g := &generation{purging: map[store.Key]struct{}{testKey(1): {}}}
	if !g.purgeable() {
		t.Error("a purge does not begin")
	}
	k := testKey(1)
	if g.frozen.add(1, k[:]); g.purgeable() {
		t.Error("a purge begins before the flush of its keys has ended")
	}
}

// TestExpiryWhilePurging: what a generation that expires has left is counted right when a
// merge of it ends, also by Open.
func TestExpiryWhilePurging(t *testing.T) {
	clock, mem := newStepClock(), vfs.NewCrashableMem()
	opt := Options{FS: mem, Clock: clock.Now, tuning: tuning{flushKeys: 100}}
	s, g := beginPurge(t, opt)
	see(t, s, "", testKeys(0, 100))
	clock.step(time.Hour)
	flushRuns(t, s)
	c := s.crawls[store.DefaultCrawl]
	// A step of expiry that goes through half of the keys.
	if err := s.read(t.Context(), func(tx *txn) error {
		tx.addGeneration(c)
		keys, _, err := g.keysFrom(1 << 14)
		if err != nil {
			return err
		}
		old := oldKeys{last: &keys[len(keys)/2]}
		for i := range keys[:len(keys)/2+1] {
			if !g.hidden(&keys[i]) {
				old.gone = append(old.gone, keys[i])
			}
		}
		(&expireOp{limit: tx.s.nextGen}).forget(tx, c, g, old)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	left := g.keys
	endPurge(t, s, g)
	opt.FS = mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, "db", opt)
	defer s.Close()
	wantSeen(t, s, "", left)
	wantSound(t, s)
}

// TestForgetAmongPackedGenerations: keys are forgotten in the generation whose packed rows
// have them, without going through all rows for each.
func TestForgetAmongPackedGenerations(t *testing.T) {
	n := tortureSize(60_000, 200_000)
	for _, way := range []Options{{}, {IndexBytes: -1}, {Exact: true}} {
		clock := newStepClock()
		opt := way
		opt.FS, opt.Clock, opt.tuning = vfs.NewMem(), clock.Now, tuning{generation: time.Hour, flushKeys: 1 << 30}
		s := mustOpen(t, "db", opt)
		for i := range 3 {
			see(t, s, "", testKeys(n*i, n*i+n))
			clock.step(2 * time.Hour)
			if i == 1 { // the rows of the first two are those of a flush that failed
				if err := s.do(t.Context(), 1, func(tx *txn) error { tx.freeze(); return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		var keys []store.Key
		for i := range 3 {
			keys = append(keys, testKeys(n*i, n*i+5_000)...)
		}
		if got := forget(t, s, store.Selection{Keys: keys}); got != 15_000 {
			t.Errorf("got %d forgotten; want 15000", got)
		}
		for i, g := range s.crawls[store.DefaultCrawl].gens {
			if want := int64(n - 5000); g.keys != want {
				t.Errorf("generation %d: got %d keys; want %d", i, g.keys, want)
			}
		}
		if got := see(t, s, "", testKeys(0, 3*n)); got != 15_000 {
			t.Errorf("got %d new; want the 15000 that were forgotten", got)
		}
		if got := forget(t, s, store.Selection{Keys: keys}); got != 15_000 {
			t.Errorf("got %d forgotten of those recorded again; want 15000", got)
		}
		for i, g := range s.crawls[store.DefaultCrawl].gens {
			if want := int64(n - 5000); i < 3 && g.keys != want || i == 3 && g.keys != 0 {
				t.Errorf("generation %d: got %d keys; want %d, and none in the last", i, g.keys, want)
			}
		}
		wantSound(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
