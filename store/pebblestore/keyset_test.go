package pebblestore

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

func flushRuns(t testing.TB, s *Store) {
	t.Helper()
	if err := s.flushRuns(); err != nil {
		t.Fatal(err)
	}
}

// TestWaysAnswer compares the answers of all ways to look up keys with a map, beyond
// the sizes at which indexes become tables.
func TestWaysAnswer(t *testing.T) {
	for _, opt := range waysToLookUp {
		t.Run(opt.testName(), func(t *testing.T) {
			opt.FS = vfs.NewMem()
			if opt.flushKeys > 0 {
				opt.flushKeys *= 200
			}
			s := mustOpen(t, "db", opt)
			rng, model := newRand(9), map[store.Key]bool{}
			for step := range 120 {
				if step%50 == 30 {
					s = reopen(t, s, "db", opt)
				}
				keys := make([]store.Key, 2000)
				want := make([]bool, len(keys))
				for i := range keys {
					keys[i] = testKey(rng.IntN(200_000))
					want[i] = !model[keys[i]]
					model[keys[i]] = true
				}
				fresh := make([]bool, len(keys))
				if err := s.See(context.Background(), "", keys, fresh, store.SeeOptions{}); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if fresh[i] != want[i] {
						t.Fatalf("step %d key %d: got new %v; want %v", step, i, fresh[i], want[i])
					}
				}
				if step%10 == 9 {
					forget(t, s, store.Selection{Keys: keys[:50]})
					for _, k := range keys[:50] {
						delete(model, k)
					}
				}
			}
			wantSeen(t, s, "", int64(len(model)))
			wantSound(t, s)
			if info := s.Index(); info.Keys != int64(len(model)) || info.Fingerprints && info.Bytes == 0 { // after a flush, runs take no memory
				t.Errorf("got %+v; want %d keys", info, len(model))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		budget, keys int64
		want         bool
	}{
		{0, 1e9, true},
		{1 << 30, 50e6, true},
		{600 << 20, 50e6, true},
		{400 << 20, 50e6, false},
		{-1, 0, false},
		{1, 0, true},
	} {
		if got := (&Options{IndexBytes: tt.budget}).fits(tt.keys); got != tt.want {
			t.Errorf("%d MB, %d keys: got %v; want %v", tt.budget>>20, tt.keys, got, tt.want)
		}
	}
}

// TestBudgetIsKept grows a store over its budget.
func TestBudgetIsKept(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), IndexBytes: 4 << 20, tuning: tuning{flushKeys: 20_000}})
	defer s.Close()
	n := 0
	for s.Index().Fingerprints {
		if n += 2000; n > 1_000_000 {
			t.Fatalf("got %+v; want the index left by now", s.Index())
		}
		see(t, s, "", testKeys(n-2000, n))
	}
	if fresh := see(t, s, "", testKeys(0, n+2000)); fresh != 2000 {
		t.Errorf("got %d new; want 2000", fresh)
	}
	n += 2000
	for range 40 {
		n += 2000
		see(t, s, "", testKeys(n-2000, n))
		if info := s.Index(); info.Fingerprints || info.Bytes > 8<<20 {
			t.Fatalf("got %+v; want no index, and tables of packed keys", info)
		}
	}
	if fresh := see(t, s, "", testKeys(0, n)); fresh != 0 {
		t.Errorf("got %d new; want none", fresh)
	}
	wantSound(t, s)
}

// TestFlushFreesTables checks that the tables of packed keys take no memory after a flush.
func TestFlushFreesTables(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), IndexBytes: -1})
	defer s.Close()
	see(t, s, "", testKeys(0, 1000))
	if info := s.Index(); info.Bytes != 1000*tableBytes {
		t.Errorf("got %d bytes of 1,000 packed keys; want %d", info.Bytes, 1000*tableBytes)
	}
	flushRuns(t, s)
	if info := s.Index(); info.Bytes != 0 {
		t.Errorf("got %d bytes after a flush; want none", info.Bytes)
	}
}

// TestExactKeepsColliding sets one fingerprint for all keys of a segment. Without Exact the second key is
// lost; with Exact it is not.
func TestExactKeepsColliding(t *testing.T) {
	for _, exact := range []bool{false, true} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Exact: exact, tuning: tuning{flushKeys: 1000}})
		see(t, s, "", testKeys(0, 10))
		c := s.crawls[store.DefaultCrawl]
		c.seen.x.Close()
		c.seen.x = seenindex.New(new([secretLen]byte))
		c.seen.x.Reserve(1<<20, &store.Key{}, &store.Key{0xff, 0xff}) // a table
		a, b := testKey(100), testKey(100)
		b[15]++
		if n := see(t, s, "", []store.Key{a}); n != 1 {
			t.Fatalf("got %d new; want 1", n)
		}
		flushRuns(t, s)
		want := 0
		if exact {
			want = 1
		}
		if n := see(t, s, "", []store.Key{b}); n != want {
			t.Errorf("exact %v: got %d new; want %d", exact, n, want)
		}
		if exact {
			forget(t, s, store.Selection{Keys: []store.Key{b}})
			if n := see(t, s, "", []store.Key{a}); n != 0 {
				t.Error("a key was new again when another of its fingerprint was forgotten")
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
