package pebblestore

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
)

// tortureCount returns how often to run a randomised test: few times in an
// ordinary run, and long times many under FIRSTSEEN_TORTURE=1, unless
// FIRSTSEEN_TORTURE_N says otherwise.
func tortureCount(t *testing.T, few, many int) int {
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N")); err == nil {
		return n
	}
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		return many
	}
	if testing.Short() {
		return 1
	}
	return few
}

// tortureSize returns how large an input is: small in an ordinary run, full under FIRSTSEEN_TORTURE=1.
func tortureSize(small, full int) int {
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		return full
	}
	return small
}

// TestPowerCuts cuts the power at random file operations of a random load, a few times in the life of
// each store, and compares the store with the answers that callers got.
func TestPowerCuts(t *testing.T) {
	const lives = 4
	cutPower(t, tortureCount(t, 15, 1000), lives, waysToLookUp)
}

// TestRunsPowerCuts does so with runs made and merged all the time.
func TestRunsPowerCuts(t *testing.T) {
	cutPower(t, tortureCount(t, 15, 1500), 6, []Options{{IndexBytes: -1, tuning: tuning{flushKeys: 40}}, {tuning: tuning{flushKeys: 100}}, {Exact: true, tuning: tuning{flushKeys: 60}}})
}

// cutPower lives n stores, each life in one of some modes.
func cutPower(t *testing.T, n, lives int, modes []Options) {
	for seed := range n {
		w := &world{t: t, rng: newRand(uint64(seed)), fs: vfs.NewCrashableMem(), modes: modes}
		for range lives {
			w.live()
			w.check()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d power cuts", n*lives)
}

// world is a store's disk and what its callers know.
type world struct {
	t   *testing.T
	rng *rand.Rand
	fs  *vfs.MemFS
	// modes are what a life may hold its keys in.
	modes []Options

	mu    sync.Mutex
	calls []*call
	told  map[crawlKey]int // how often a key was acknowledged as new
}

type crawlKey struct {
	crawl string
	key   store.Key
}

// call is one See.
type call struct {
	crawl string
	keys  []store.Key
	acked bool
}

// live runs a load on the store until the power is cut at a random write.
func (w *world) live() {
	var ops atomic.Int64
	cutAt := 1 + w.rng.Int64N(400)
	cloneRNG := newRand(w.rng.Uint64())
	unsynced := []int{0, 50, 100}[w.rng.IntN(3)]
	var clone *vfs.MemFS
	var cut atomic.Bool
	fs := errorfs.Wrap(w.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && ops.Add(1) == cutAt {
			w.mu.Lock() // no caller gets an answer while the disk is copied
			clone = w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: cloneRNG})
			cut.Store(true)
			w.mu.Unlock()
		}
		return nil
	}))
	opt := tiny(fs)
	mode := w.modes[w.rng.IntN(len(w.modes))]
	opt.IndexBytes, opt.Exact, opt.flushKeys = mode.IndexBytes, mode.Exact, mode.flushKeys
	s, err := openPrepared("db", opt)
	if err != nil {
		w.t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		rng := newRand(w.rng.Uint64())
		wg.Go(func() {
			for !cut.Load() {
				w.see(s, rng, &cut)
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.fs = clone
}

// see makes one random call and notes its answer, if it came before the cut.
func (w *world) see(s *Store, rng *rand.Rand, cut *atomic.Bool) {
	c := &call{crawl: []string{"a", "b"}[rng.IntN(2)]}
	for range 1 + rng.IntN(60) {
		c.keys = append(c.keys, testKey(rng.IntN(20_000)))
	}
	w.mu.Lock()
	if !cut.Load() {
		w.calls = append(w.calls, c)
	}
	w.mu.Unlock()
	fresh := make([]bool, len(c.keys))
	err := s.See(context.Background(), c.crawl, c.keys, fresh, store.SeeOptions{})
	if err != nil {
		w.t.Error(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if cut.Load() {
		return
	}
	c.acked = true
	for i, f := range fresh {
		if f {
			w.tell(crawlKey{c.crawl, c.keys[i]})
		}
	}
}

func (w *world) tell(k crawlKey) {
	if w.told == nil {
		w.told = map[crawlKey]int{}
	}
	if w.told[k]++; w.told[k] > 1 {
		w.t.Errorf("%s %x was new twice", k.crawl, k.key)
	}
}

// check opens the disk after the cut and compares.
func (w *world) check() {
	s, err := openPrepared("db", Options{FS: w.fs, IndexBytes: w.modes[0].IndexBytes, tuning: tuning{flushKeys: w.modes[0].flushKeys}})
	if err != nil {
		w.t.Fatal(err)
	}
	there := map[crawlKey]bool{}
	for _, crawl := range []string{"a", "b"} {
		var n int64
		for k, err := range s.Keys(context.Background(), crawl) {
			if err != nil {
				w.t.Fatal(err)
			}
			there[crawlKey{crawl, k}] = true
			n++
		}
		if st, err := s.Stats(context.Background(), crawl); err != nil || st.Seen != n {
			w.t.Errorf("crawl %s: got %+v, %v; want %d keys seen", crawl, st, err, n)
		}
	}
	offered := map[crawlKey]int{}
	for _, c := range w.calls {
		for _, k := range unique(c.keys) {
			offered[crawlKey{c.crawl, k}]++
		}
	}
	for k := range there {
		if offered[k] == 0 {
			w.t.Errorf("%s %x is there; nobody offered it", k.crawl, k.key)
		}
	}
	w.checkCalls(there, offered)
	wantSound(w.t, s)
	if err := s.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// checkCalls finds lost keys of acknowledged calls, and calls that were stored
// in part. What is found of an unanswered call counts as offered from now on.
func (w *world) checkCalls(there map[crawlKey]bool, offered map[crawlKey]int) {
	kept := w.calls[:0]
	for _, c := range w.calls {
		in, own := 0, 0
		for _, k := range unique(c.keys) {
			ck := crawlKey{c.crawl, k}
			if c.acked && !there[ck] {
				w.t.Errorf("%s %x was acknowledged and is lost", c.crawl, k)
			}
			if offered[ck] == 1 {
				own++
				if there[ck] {
					in++
				}
			}
		}
		if in != 0 && in != own {
			w.t.Errorf("a call is there in part: %d of %d keys", in, own)
		}
		if c.acked || in > 0 || own == 0 {
			kept = append(kept, c)
		}
	}
	w.calls = kept
}

func unique(keys []store.Key) []store.Key {
	seen := map[store.Key]bool{}
	var out []store.Key
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
