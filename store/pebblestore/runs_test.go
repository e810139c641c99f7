package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// runFiles returns the names of the run files.
func runFiles(t testing.TB, s *Store) []string {
	t.Helper()
	names, err := s.opt.FS.List(s.runsDir())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// idle waits until the keeper has nothing to do.
func idle(t testing.TB, s *Store, ready func() bool) {
	t.Helper()
	hang.Until(t, "the keeper has nothing to do", func() bool {
		s.pokeKeeper()
		return ready()
	})
}

// TestForgetAddMergeCrash forgets keys that are in runs, adds some of them again, merges,
// and cuts the power before and after each: forgotten keys must stay forgotten, and keys that were added
// again must be known once.
func TestForgetAddMergeCrash(t *testing.T) {
	for _, way := range waysToLookUp {
		t.Run(way.testName(), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			opt := way
			opt.FS, opt.flushKeys = mem, 100
			s := mustOpen(t, "db", opt)
			crash := func() {
				t.Helper()
				mem = mem.CrashClone(vfs.CrashCloneCfg{})
				opt.FS = mem
				_ = s.Close()
				s = mustOpen(t, "db", opt)
				wantSound(t, s)
			}
			for i := range 3 {
				see(t, s, "", testKeys(100*i, 100*i+100))
				flushRuns(t, s)
			}
			if n := forget(t, s, store.Selection{Keys: testKeys(50, 250)}); n != 200 {
				t.Fatalf("got %d forgotten; want 200", n)
			}
			crash()
			wantSeen(t, s, "", 100)
			if n := see(t, s, "", testKeys(0, 150)); n != 100 {
				t.Errorf("got %d new; want the 100 of them that were forgotten", n)
			}
			crash()
			wantSeen(t, s, "", 200)
			see(t, s, "", testKeys(300, 400))
			flushRuns(t, s)
			forget(t, s, store.Selection{Keys: testKeys(0, 20)})
			crash()
			dead := func() int {
				s.mu.RLock()
				defer s.mu.RUnlock()
				g := s.crawls[store.DefaultCrawl].gens[0]
				return len(g.dead) + len(g.purging)
			}
			idle(t, s, func() bool { return int64(dead()) < opt.flushKeys })
			crash()
			wantSeen(t, s, "", 280)
			if n := see(t, s, "", testKeys(0, 400)); n != 120 {
				t.Errorf("got %d new; want the 120 that stayed forgotten", n)
			}
			wantSeen(t, s, "", 400)
			wantSound(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestReviveWhilePurging checks that keys that are recorded again while a merge leaves them out are
// there after it, and that keys forgotten in the meantime are not.
func TestReviveWhilePurging(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{flushKeys: 100}}
	s, g := beginPurge(t, opt)
	parts := purgeParts(s, g)
	if n := see(t, s, "", testKeys(0, 100)); n != 100 {
		t.Errorf("got %d new; want 100", n)
	}
	forget(t, s, store.Selection{Keys: testKeys(50, 60)})
	forget(t, s, store.Selection{Keys: testKeys(290, 300)})
	s.mu.Lock()
	s.views--
	s.mu.Unlock()
	if err := s.mergeParts(parts); err != nil {
		t.Fatal(err)
	}
	wantSeen(t, s, "", 180)
	wantSound(t, s)
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantSound(t, s)
	if n := see(t, s, "", testKeys(0, 300)); n != 120 {
		t.Errorf("got %d new; want 120", n)
	}
}

// TestManySmallCrawls: many crawls share a few run files.
func TestManySmallCrawls(t *testing.T) {
	crawls, keys := tortureCount(t, 2000, 40_000), 20
	if crawls < 2000 {
		crawls = 200
	}
	opt := Options{FS: vfs.NewMem(), tuning: tuning{flushKeys: int64(crawls * 2)}}
	s := mustOpen(t, "db", opt)
	for i := range crawls {
		see(t, s, fmt.Sprint("crawl", i), testKeys(keys*i, keys*i+keys))
	}
	flushRuns(t, s)
	if n := len(runFiles(t, s)); n > 200 {
		t.Errorf("got %d files for %d crawls; want at most 200", n, crawls)
	}
	wantSound(t, s)
	forget(t, s, store.Selection{Crawl: "crawl7"})
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantSeen(t, s, "*", int64((crawls-1)*keys))
	if n := see(t, s, "crawl9", testKeys(0, keys*10)); n != keys*9 {
		t.Errorf("got %d new; want %d", n, keys*9)
	}
	wantSound(t, s)
}

// TestFilesGo checks that files of forgotten keys, and files that a crash left, are removed.
func TestFilesGo(t *testing.T) {
	clock := newStepClock()
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: time.Hour, flushKeys: 100}}
	s := mustOpen(t, "db", opt)
	for range 3 {
		see(t, s, "", testKeys(0, 1000))
		see(t, s, "other", testKeys(0, 30))
		flushRuns(t, s)
		clock.step(2 * time.Hour)
		if n := forget(t, s, store.Selection{Crawl: "*", Before: clock.Now()}); n != 1030 {
			t.Fatalf("got %d forgotten; want all", n)
		}
	}
	idle(t, s, func() bool { return len(runFiles(t, s)) == 0 })
	for _, c := range s.crawls {
		if len(c.gens) > 1 {
			t.Errorf("got %d generations of crawl %q; want one", len(c.gens), c.name)
		}
	}
	see(t, s, "", testKeys(0, 1000))
	flushRuns(t, s)
	left, err := opt.FS.Create(opt.FS.PathJoin(s.runsDir(), runfile.ID{9}.Name()), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, "db", opt)
	defer s.Close()
	if names := strings.Join(runFiles(t, s), " "); strings.Contains(names, runfile.ID{9}.Name()) {
		t.Errorf("got %s; want no file that no row names", names)
	}
	wantSeen(t, s, "", 1000)
}

// TestKnownKeysMakeNoGenerations: recording the same keys again and again leaves nothing
// behind.
func TestKnownKeysMakeNoGenerations(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	for range 100 {
		see(t, s, "", testKeys(0, 100))
	}
	if n := len(s.crawls[store.DefaultCrawl].gens); n != 1 {
		t.Errorf("got %d generations; want 1", n)
	}
	wantSeen(t, s, "", 100)
}

// TestRefusedKeysLeaveNothing: keys that a cap refuses take no memory.
func TestRefusedKeysLeaveNothing(t *testing.T) {
	for _, way := range []Options{{}, {IndexBytes: -1}, {Exact: true}} {
		way.FS = vfs.NewMem()
		s := mustOpen(t, "db", way)
		item := func(n int) store.Item { return store.Item{Key: testKey(n), Queue: "q", URL: "u"} }
		add := func(lo, hi int) {
			var items []store.Item
			for n := lo; n < hi; n++ {
				items = append(items, item(n))
			}
			if _, err := s.Add(t.Context(), "", items, store.AddOptions{MaxHeld: 10}); err != nil {
				t.Fatal(err)
			}
		}
		add(0, 10)
		before := s.Index().Bytes
		for i := range 20 {
			add(100+1000*i, 1100+1000*i)
		}
		if after := s.Index().Bytes; after > before+40*1100 && !way.Exact {
			t.Errorf("%s: got %d bytes; want %d as before", way.testName(), after, before)
		}
		wantSeen(t, s, "", 10)
		wantSound(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOldFormatRefused: a store of the format before is refused, with what to do.
func TestOldFormatRefused(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	if err := s.db.Set(metaKey(metaFormat), binary.BigEndian.AppendUint32(nil, 2), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open("db", opt)
	if !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), "export") {
		t.Errorf("got %v; want ErrFormat, the format it has, and what to do", err)
	}
}

// TestDamagedRuns flips bits of a run file. Open refuses the store, or each call says
// that the file is damaged or answers the truth; and Verify finds it.
func TestDamagedRuns(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), IndexBytes: -1, tuning: tuning{flushKeys: 100}}
	path, size := oneRun(t, opt)
	for at := int64(0); at < size; at += 61 {
		flipAt(t, opt.FS, path, at)
		wantNoticed(t, opt, path, at)
		flipAt(t, opt.FS, path, at)
	}
}

// oneRun makes a store whose 300 keys are in one file, and returns its path and size.
func oneRun(t *testing.T, opt Options) (path string, size int64) {
	t.Helper()
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 300))
	flushRuns(t, s)
	names := runFiles(t, s)
	if len(names) != 1 {
		t.Fatalf("got %v; want one file", names)
	}
	path = opt.FS.PathJoin(s.runsDir(), names[0])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := opt.FS.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, info.Size()
}

// TestDamagedRunWhileFilling checks that a damaged run, which the index cannot be filled from, ends
// neither the store nor the answers for keys in the rest of it.
func TestDamagedRunWhileFilling(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{flushKeys: 100}}
	path, _ := oneRun(t, opt)
	flipAt(t, opt.FS, path, 61) // in the first bucket
	s := mustOpen(t, "db", opt)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	named := func(err error) bool {
		return errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), filepath.Base(path))
	}
	idle(t, s, func() bool { return !s.Index().Filling })
	if info := s.Index(); info.Fingerprints || !named(info.Err) {
		t.Errorf("got %+v; want no fingerprints, and an error that names %s", info, path)
	}
	refused := 0
	for i := range 400 {
		var fresh [1]bool
		switch err := s.See(t.Context(), "", testKeys(i, i+1), fresh[:], store.SeeOptions{}); {
		case named(err):
			refused++
		case err != nil:
			t.Errorf("key %d: got %v; want no error, or one that names the file", i, err)
		case fresh[0] != (i >= 300):
			t.Errorf("key %d: got new %v; want %v", i, fresh[0], i >= 300)
		}
	}
	if refused == 0 || refused > 100 {
		t.Errorf("got %d keys refused; want those of the damaged bucket", refused)
	}
	all := testKeys(0, 2*findAlone)
	if err := s.See(t.Context(), "", all, make([]bool, len(all)), store.SeeOptions{}); !named(err) {
		t.Errorf("got %v for keys that two goroutines look up; want an error that names the file", err)
	}
	for i := range 300 {
		list := []store.Settlement{{Key: testKey(i), Create: true, Queue: "q", URL: "u"}}
		if _, err := s.Settle(t.Context(), "", list); err != nil && !named(err) {
			t.Fatalf("key %d: got %v from Settle; want no error, or one that names the file", i, err)
		}
	}
}

// TestDamagedRunIsMergedOnce checks that a run whose merge met damage is not merged again.
func TestDamagedRunIsMergedOnce(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), IndexBytes: -1, tuning: tuning{flushKeys: 100}}
	path, _ := oneRun(t, opt)
	flipAt(t, opt.FS, path, 61)
	s := mustOpen(t, "db", opt)
	defer s.Close()
	g := s.crawls[store.DefaultCrawl].gens[0]
	if err := s.mergeParts(purgeParts(s, g)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v; want ErrCorrupt", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !g.runs[0].busy {
		t.Error("the run may be merged again")
	}
}

func flipAt(t *testing.T, fs vfs.FS, path string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte{0}
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (at % 8)
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantNoticed(t *testing.T, opt Options, name string, at int64) {
	t.Helper()
	named := func(err error) {
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("byte %d: got %v; want ErrCorrupt, and the file named", at, err)
		}
	}
	s, err := openPrepared("db", opt)
	if err != nil {
		named(err)
		return
	}
	defer s.Close()
	for i := range 300 {
		var fresh [1]bool
		if err := s.See(t.Context(), "", testKeys(i, i+1), fresh[:], store.SeeOptions{}); err != nil {
			named(err)
		} else if fresh[0] {
			t.Fatalf("byte %d: key %d is new again", at, i)
		}
		item := []store.Item{{Key: testKey(i), Queue: "q", URL: "u"}}
		if v, err := s.Add(t.Context(), "", item, store.AddOptions{}); err != nil {
			named(err)
		} else if v[0].Status != store.Duplicate && v[0].Status != store.Damaged {
			t.Fatalf("byte %d: key %d is %v", at, i, v[0].Status)
		}
	}
	if r, err := s.Verify(t.Context()); err != nil {
		named(err)
	} else if len(r.Findings) == 0 {
		t.Errorf("byte %d: Verify found nothing", at)
	}
	if info := s.Index(); info.Err == nil {
		t.Errorf("byte %d: the metric is of no damage", at)
	}
}

// TestRunsThatCannotBeWritten checks that keys are packed, accepted and forgotten while no run file can
// be written, and that runs are written once it is possible.
func TestRunsThatCannotBeWritten(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	disk := errors.New("no room for runs")
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".run") {
			return disk
		}
		return nil
	}))
	opt := Options{FS: fs, IndexBytes: -1}
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 1000))
	for range 2 {
		if err := s.flushRuns(); !errors.Is(err, disk) {
			t.Errorf("got %v; want %v", err, disk)
		}
	}
	if n := see(t, s, "", testKeys(500, 1500)); n != 500 {
		t.Errorf("got %d new; want 500", n)
	}
	if n := forget(t, s, store.Selection{Keys: testKeys(100, 300)}); n != 200 {
		t.Errorf("got %d forgotten; want 200", n)
	}
	if n := see(t, s, "", testKeys(0, 200)); n != 100 {
		t.Errorf("got %d new; want the 100 of them that were forgotten", n)
	}
	full.Store(false)
	flushRuns(t, s)
	wantSound(t, s)
	if n := len(runFiles(t, s)); n != 1 {
		t.Errorf("got %d files; want 1", n)
	}
	s = reopen(t, s, "db", opt)
	defer s.Close()
	if n := see(t, s, "", testKeys(0, 1500)); n != 100 {
		t.Errorf("got %d new; want the 100 that stayed forgotten", n)
	}
}

// TestFileOutlivesItsFirstRuns has two crawls share a file, and forgets the first before the second
// has its run of it, as a flush of many generations may.
func TestFileOutlivesItsFirstRuns(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	see(t, s, "a", testKeys(0, 100))
	see(t, s, "b", testKeys(0, 200))
	var parts []*keyPart
	step := func(f func(tx *txn) error) {
		t.Helper()
		if err := s.do(t.Context(), 1, f); err != nil {
			t.Fatal(err)
		}
	}
	step(func(tx *txn) error { parts = tx.freeze(); return nil })
	w := &runsWriter{s: s}
	for _, p := range parts {
		if err := w.write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	for i, p := range parts {
		step(func(tx *txn) error { return tx.replace(parts[i : i+1]) })
		if i == 0 {
			if _, err := s.Forget(t.Context(), store.Selection{Crawl: p.g.c.name}); err != nil {
				t.Fatal(err)
			}
			s.keeper.releasing.Wait()
		}
	}
	if err := w.release(); err != nil {
		t.Fatal(err)
	}
	rest := parts[1].g.c.name
	s = reopen(t, s, "db", opt)
	if n := see(t, s, rest, testKeys(0, 100)); n != 0 {
		t.Errorf("got %d new; want none", n)
	}
	wantSound(t, s)
}

// TestRefusedKeepsRuns: an Open that refuses the store for any of its rows removes no run file: the row that names it may be what is damaged.
func TestRefusedKeepsRuns(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, "db", Options{FS: mem})
	path := mem.PathJoin(s.runsDir(), strings.Repeat("ab", 16)+".run")
	row := appendOfQueue(nil, tableRetired, 1234, 1) // of no crawl
	if err := errors.Join(s.db.Set(row, nil, pebble.Sync), s.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := mem.Create(path, vfs.WriteCategoryUnspecified)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("db", Options{FS: mem}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v; want ErrCorrupt", err)
	}
	if _, err := mem.Stat(path); err != nil {
		t.Errorf("got %v; want the run file", err)
	}
}
