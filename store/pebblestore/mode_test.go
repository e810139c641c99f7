package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
	"github.com/firstseen/firstseen/store/storetest"
)

// modeOptions are all ways to hold the keys.
var modeOptions = []Options{
	{Index: IndexFP64}, {Index: IndexFP40}, {Index: IndexExact}, {Index: IndexBounded}, {Index: IndexFlat, flatKeys: 400}, {Index: IndexFP64, Exact: true},
}

func (o Options) testName() string { return fmt.Sprintf("%s-exact=%v", o.Index, o.Exact) }

func TestSuiteInAllModes(t *testing.T) {
	for _, opt := range modeOptions[1:] {
		t.Run(opt.testName(), func(t *testing.T) {
			open := func(t testing.TB, env storetest.Env, fs vfs.FS) store.Store {
				o := suiteOptions(env, fs)
				o.Index, o.Exact, o.flatKeys = opt.Index, opt.Exact, opt.flatKeys
				return mustOpen(t, "db", o)
			}
			storetest.Run(t, storetest.Backend{
				Open: func(t testing.TB, env storetest.Env) store.Store { return open(t, env, vfs.NewMem()) },
				Reopen: func(t testing.TB, s store.Store, env storetest.Env) store.Store {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					return open(t, env, s.(*Store).opt.FS)
				},
			})
		})
	}
}

// TestModesAnswer compares the answers of all modes with a map, beyond the
// sizes at which indexes become tables and filters and caches grow.
func TestModesAnswer(t *testing.T) {
	for _, opt := range modeOptions {
		t.Run(opt.testName(), func(t *testing.T) {
			opt.FS = vfs.NewMem()
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
			if info := s.Index(); info.Mode != opt.Index || info.Keys != int64(len(model)) || info.Bytes == 0 {
				t.Errorf("got %+v; want mode %s with %d keys", info, opt.Index, len(model))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestChooseMode(t *testing.T) {
	for _, tt := range []struct {
		budget, keys int64
		want         IndexMode
	}{
		{0, 1e9, IndexFP64},
		{1 << 30, 50e6, IndexFP64},
		{600 << 20, 50e6, IndexFlat},
		{1, 0, IndexFP64},
	} {
		if got := (&Options{IndexBytes: tt.budget}).chooseMode(tt.keys); got != tt.want {
			t.Errorf("%d MB, %d keys: got %s; want %s", tt.budget>>20, tt.keys, got, tt.want)
		}
	}
	if _, err := Open("db", Options{FS: vfs.NewMem(), Index: "lru"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v; want ErrInvalid", err)
	}
}

// TestBudgetIsKept grows a store over its budget.
func TestBudgetIsKept(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), IndexBytes: 4 << 20})
	defer s.Close()
	n := 0
	for s.Index().Mode == IndexFP64 {
		if n += 2000; n > 1_000_000 {
			t.Fatalf("got %+v; want the flat mode by now", s.Index())
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
		if info := s.Index(); info.Mode != IndexFlat || info.Bytes > 8<<20 {
			t.Fatalf("got %+v; want a flat index, in about its budget", info)
		}
	}
	if fresh := see(t, s, "", testKeys(0, n)); fresh != 0 {
		t.Errorf("got %d new; want none", fresh)
	}
}

// TestExactKeepsColliding gives two keys one fingerprint: trusted, the second
// is lost; exact, it isn't.
func TestExactKeepsColliding(t *testing.T) {
	for _, exact := range []bool{false, true} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Index: IndexFP40, Exact: exact})
		see(t, s, "", testKeys(0, 70_000)) // enough for a table
		a, b := collidingKeys(t, s)
		if n := see(t, s, "", []store.Key{a}); n != 1 {
			t.Fatalf("got %d new; want 1", n)
		}
		want := 0
		if exact {
			want = 1
		}
		if n := see(t, s, "", []store.Key{b}); n != want {
			t.Errorf("exact %v: got %d new; want %d", exact, n, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// collidingKeys finds two keys of one segment with one 40-bit fingerprint among
// some millions. Without the secret nobody could.
func collidingKeys(t *testing.T, s *Store) (a, b store.Key) {
	t.Helper()
	at := map[uint64]int{}
	key := func(n int) store.Key {
		k := testKey(n)
		k[0], k[1] = 0, 0
		return k
	}
	for n := range 12_000_000 {
		k := key(n)
		h := seenindex.Fingerprint(&s.secret, &k) >> 24
		if first, ok := at[h]; ok {
			return key(first), k
		}
		at[h] = n
	}
	t.Skip("no collision among twelve million keys")
	return a, b
}
