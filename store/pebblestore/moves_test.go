package pebblestore

import (
	"bytes"
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

// heldKeys is how many URLs a movingStore holds: keys 0 to 39.
const heldKeys = 40

// movingStore is a store with URLs that are held, a generation each. Before and
// after these are generations that had keys, so that reading all of them takes as
// long as a move.
type movingStore struct {
	*Store
	t     *testing.T
	clock *stepClock
}

func newMovingStore(t *testing.T) *movingStore {
	const others = 400
	m := &movingStore{t: t, clock: newStepClock()}
	m.Store = mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: m.clock.Now, tuning: tuning{generation: time.Hour, textBytes: 1}})
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	var gone []store.Key
	for i := range others + heldKeys {
		if held := i - others/2; held >= 0 && held < heldKeys {
			m.add("http://a/first", held, held+1)
		} else {
			gone = append(gone, testKey(1000+i))
			see(t, m.Store, "", gone[len(gone)-1:])
		}
		m.clock.step(24 * time.Hour)
	}
	forget(t, m.Store, store.Selection{Keys: gone})
	return m
}

// moves forgets old keys, so that the held URLs move to other generations in turn, until check
// was called and all have moved.
func (m *movingStore) moves(check func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var moved atomic.Bool
	end := m.clock.Now()
	wg.Go(func() {
		defer moved.Store(true)
		for at := newStepClock().Now(); at.Before(end); at = at.AddDate(0, 0, 1) {
			forget(m.t, m.Store, store.Selection{Before: at})
		}
	})
	for !moved.Load() {
		check()
	}
	check()
}

// add adds URLs under a text.
func (m *movingStore) add(text string, lo, hi int) []store.Verdict {
	items := make([]store.Item, hi-lo)
	for i := range items {
		items[i] = store.Item{Key: testKey(lo + i), Queue: "a", URL: text}
	}
	verdicts, err := m.Add(context.Background(), "", items, store.AddOptions{WantFirst: true})
	if err != nil {
		m.t.Fatal(err)
	}
	return verdicts
}

// TestKeysThatMove: held keys that move while keys are listed or exported are there
// once.
func TestKeysThatMove(t *testing.T) {
	m := newMovingStore(t)
	m.moves(func() {
		var file bytes.Buffer
		if _, err := m.Export(t.Context(), &file, ""); err != nil {
			t.Fatal(err)
		}
		r, err := crawlfile.NewKeyReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		wantHeldOnce(t, r.Keys())
		wantHeldOnce(t, m.Keys(t.Context(), ""))
	})
}

// TestMovedKeysAreListed: when a step has moved held keys, the generation that they are in now has them:
// a list may begin before the group ends.
func TestMovedKeysAreListed(t *testing.T) {
	m := newMovingStore(t)
	flushRuns(t, m.Store)
	moved := 0
	for o, more := (&expireOp{sel: store.Selection{Before: m.clock.Now()}}), true; more; {
		err := onePart(m.Store, func(tx *txn) error {
			err := o.apply(tx)
			for _, g := range m.crawls[store.DefaultCrawl].gens {
				moved += int(g.packed())
				if len(g.pending) > 0 {
					t.Errorf("got %d bytes of keys in no row of generation %d", len(g.pending), g.num)
				}
			}
			return err
		}, firstRows)
		if more = err == errMore || o.packed; err != nil && !more {
			t.Fatal(err)
		}
		flushRuns(t, m.Store)
	}
	if moved == 0 {
		t.Error("got no key that moved")
	}
}

func wantHeldOnce(t *testing.T, keys iter.Seq2[store.Key, error]) {
	t.Helper()
	times := map[store.Key]int{}
	for k, err := range keys {
		if err != nil {
			t.Fatal(err)
		}
		times[k]++
	}
	for i := range heldKeys {
		if n := times[testKey(i)]; n != 1 {
			t.Fatalf("got held key %d %d times; want it once", i, n)
		}
	}
}

// TestFirstSpellingAcrossGenerations: held keys that move while their first spelling
// is looked for have one.
func TestFirstSpellingAcrossGenerations(t *testing.T) {
	m := newMovingStore(t)
	m.moves(func() {
		for i := range m.texts.shards { // so that all are read
			m.texts.shards[i].forgetAll()
		}
		for i, v := range m.add("http://a/second", 0, heldKeys) {
			if v.First != "http://a/first" {
				t.Fatalf("item %d: got first %q; want that of a held URL", i, v.First)
			}
		}
	})
}
