package pebblestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flatrun"
)

// flatOptions are a flat index that freezes its delta every 400 keys.
func flatOptions(fs vfs.FS) Options {
	opt := tiny(fs)
	opt.Index, opt.flatKeys = IndexFlat, 400
	return opt
}

func flatOf(s *Store) *flat { return s.crawls[store.DefaultCrawl].seen.(*flat) }

// flatLoad is a store and how far its test has come.
type flatLoad struct {
	t    *testing.T
	s    *Store
	next int // of testKeys; those before are recorded
}

// add records n new keys.
func (l *flatLoad) add(n int) {
	l.t.Helper()
	if fresh := see(l.t, l.s, "", testKeys(l.next, l.next+n)); fresh != n {
		l.t.Fatalf("got %d new; want %d", fresh, n)
	}
	l.next += n
}

// wantAll wants all keys to be known.
func (l *flatLoad) wantAll() {
	l.t.Helper()
	if fresh := see(l.t, l.s, "", testKeys(0, l.next)); fresh != 0 {
		l.t.Errorf("got %d new of %d known keys", fresh, l.next)
	}
	wantSeen(l.t, l.s, "", int64(l.next))
}

// until adds keys until the workers have brought the set to where it is wanted.
func (l *flatLoad) until(what string, ok func(f *flat) bool) {
	l.t.Helper()
	for range 100_000 {
		if ok(flatOf(l.s)) {
			return
		}
		l.add(1)
		runtime.Gosched()
	}
	l.t.Fatalf("the set never was %s", what)
}

func idle(f *flat) bool { return !f.blind && len(f.frozen) == 0 && f.workers == 0 }

func newFlatLoad(t *testing.T, dir string, opt Options) *flatLoad {
	l := &flatLoad{t: t, s: mustOpen(t, dir, opt)}
	for range 50 {
		l.add(100)
	}
	l.until("idle", idle)
	if n := len(flatOf(l.s).runs); n == 0 || n > 12 {
		t.Fatalf("got %d runs; want some, and not one for each delta", n)
	}
	return l
}

// TestFlatIsKept closes and opens: the runs are used again, their row is gone,
// and files that nobody knows are removed.
func TestFlatIsKept(t *testing.T) {
	mem := vfs.NewMem()
	opt := flatOptions(mem)
	l := newFlatLoad(t, "db", opt)
	forget(t, l.s, store.Selection{Keys: testKeys(0, 20)})
	ids := runIDs(flatOf(l.s))
	l.s = reopen(t, l.s, "db", opt)
	f := flatOf(l.s)
	if got := runIDs(f); len(got) < len(ids) || !reflect.DeepEqual(got[:len(ids)], ids) {
		t.Errorf("got runs %x; want %x and perhaps another", got, ids)
	}
	if len(f.gone) != 20 || len(f.delta.log) != 0 {
		t.Errorf("got %d forgotten keys and %d in the delta; want 20 and 0", len(f.gone), len(f.delta.log))
	}
	if _, err := l.s.get(metaKey(metaRuns)); !errors.Is(err, pebble.ErrNotFound) {
		t.Errorf("got %v; want the row of the runs gone", err)
	}
	if fresh := see(t, l.s, "", testKeys(0, 40)); fresh != 20 {
		t.Errorf("got %d new; want the 20 that were forgotten", fresh)
	}
	l.wantAll()
	if err := l.s.Close(); err != nil {
		t.Fatal(err)
	}
	opt.Index = IndexFP64
	l.s = mustOpen(t, "db", opt)
	defer l.s.Close()
	l.wantAll()
	if names, err := mem.List("db/runs"); err == nil {
		t.Errorf("got %v; want no runs in another mode", names)
	}
}

func runIDs(f *flat) (ids []flatrun.ID) {
	for _, r := range f.runs {
		ids = append(ids, r.ID())
	}
	return ids
}

// TestFlatIsNotTrusted opens runs that aren't of the rows there are.
func TestFlatIsNotTrusted(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, s *Store, row []byte) []byte{
		"another stamp": func(_ *testing.T, _ *Store, row []byte) []byte { row[5]++; return row },
		"half a row":    func(_ *testing.T, _ *Store, row []byte) []byte { return row[:40] },
		"no file": func(t *testing.T, s *Store, row []byte) []byte {
			for _, v := range parseSaved(row) {
				if err := s.opt.FS.Remove(s.runPath(v.runs[0])); err != nil {
					t.Fatal(err)
				}
			}
			return row
		},
	} {
		t.Run(name, func(t *testing.T) {
			opt := flatOptions(vfs.NewMem())
			l := newFlatLoad(t, "db", opt)
			kept := runIDs(flatOf(l.s))
			if err := l.s.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := pebble.Open("db", &pebble.Options{FS: opt.FS, Logger: pebbleLog{newHealth()}})
			if err != nil {
				t.Fatal(err)
			}
			row, closer, err := db.Get(metaKey(metaRuns))
			if err != nil {
				t.Fatal(err)
			}
			spoilt := spoil(t, l.s, append([]byte(nil), row...))
			if err := errors.Join(closer.Close(), db.Set(metaKey(metaRuns), spoilt, pebble.Sync), db.Close()); err != nil {
				t.Fatal(err)
			}
			l.s = mustOpen(t, "db", opt)
			defer l.s.Close()
			if got := runIDs(flatOf(l.s)); len(got) != 1 || got[0] == kept[0] {
				t.Errorf("got runs %x; want one made of the rows", got)
			}
			l.wantAll()
			wantSound(t, l.s)
		})
	}
}

// TestFlatDamaged changes each run on the disk, while the store is open and
// between: every answer stays right, and the run is made anew.
func TestFlatDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	opt := flatOptions(vfs.Default)
	l := newFlatLoad(t, dir, opt)
	for range 3 {
		lost := flatOf(l.s).epoch
		spoilRuns(t, l.s, false)
		l.wantAll()
		if flatOf(l.s).epoch == lost {
			t.Skip("files are not mapped here: what is in memory isn't damaged")
		}
		l.until("whole again", idle)
		l.wantAll()
	}
	for _, cut := range []bool{false, true} {
		if err := l.s.Close(); err != nil {
			t.Fatal(err)
		}
		spoilRuns(t, l.s, cut)
		l.s = mustOpen(t, dir, opt)
		l.wantAll()
		l.until("whole again", idle)
		l.wantAll()
	}
	wantSound(t, l.s)
	if err := l.s.Close(); err != nil {
		t.Fatal(err)
	}
}

// spoilRuns inverts a byte in the middle of each run, or cuts it there.
func spoilRuns(t *testing.T, s *Store, cut bool) {
	t.Helper()
	names, err := os.ReadDir(s.runsDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(s.runsDir(), name.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		half := len(data) / 2
		if cut {
			err = os.Truncate(path, int64(half))
		} else {
			f, oerr := os.OpenFile(path, os.O_WRONLY, 0)
			if oerr != nil {
				t.Fatal(oerr)
			}
			_, err = f.WriteAt([]byte{^data[half]}, int64(half))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFlatDiskFull has no room for runs, from some moment on and for a while.
func TestFlatDiskFull(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.Contains(op.Path, "runs") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return syscall.ENOSPC
		}
		return nil
	}))
	opt := flatOptions(fs)
	l := newFlatLoad(t, "db", opt)
	full.Store(true)
	l.until("blind", func(f *flat) bool { return f.blind && f.failures > 1 })
	l.wantAll()
	if n := len(flatOf(l.s).delta.log); n > 400 {
		t.Errorf("got %d keys in memory; want them let go of", n)
	}
	full.Store(false)
	l.until("whole again", idle)
	l.wantAll()
	full.Store(true)
	l.add(500)
	l.s = reopen(t, l.s, "db", opt) // nothing could be saved, and little be removed
	full.Store(false)
	l.wantAll()
	wantSound(t, l.s)
	if err := l.s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFlatForgets forgets more than is remembered one by one, and crawls.
func TestFlatForgets(t *testing.T) {
	opt := flatOptions(vfs.NewMem())
	l := newFlatLoad(t, "db", opt)
	for range 3 {
		forget(t, l.s, store.Selection{Keys: testKeys(0, 1000)})
		if n := len(flatOf(l.s).gone); n > 200 {
			t.Errorf("got %d forgotten keys in memory", n)
		}
		if fresh := see(t, l.s, "", testKeys(0, 2000)); fresh != 1000 {
			t.Errorf("got %d new; want 1000", fresh)
		}
		l.until("whole again", idle)
		l.wantAll()
	}
	runs := flatOf(l.s).mapped.Load()
	if info := l.s.Index(); info.Mapped != runs || runs == 0 || info.Mode != IndexFlat {
		t.Errorf("got %+v; want %d bytes mapped", info, runs)
	}
	forget(t, l.s, store.Selection{})
	if names, err := opt.FS.List(l.s.runsDir()); err != nil || len(names) > 0 {
		t.Errorf("got %v, %v; want no files of a forgotten crawl", names, err)
	}
	l.next = 0
	l.add(1000)
	l.wantAll()
	if err := l.s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFlatForgottenInItsGroup: a crawl that gets keys and is forgotten in one group
// starts no work, which nobody would wait for.
func TestFlatForgottenInItsGroup(t *testing.T) {
	s := mustOpen(t, "db", flatOptions(vfs.NewMem()))
	defer s.Close()
	see(t, s, "", testKeys(0, 10))
	f := flatOf(s)
	f.lose() // after the next group a run is made, as a rule
	ctx := context.Background()
	release, answers := behindHeldStep(s, []func() error{
		func() error { return s.See(ctx, "", testKeys(10, 20), make([]bool, 10), store.SeeOptions{}) },
		func() error { _, err := s.Forget(ctx, store.Selection{}); return err },
	})
	close(release)
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if f.workers != 0 {
		t.Errorf("got %d workers of a set that is closed; want none", f.workers)
	}
}

func TestSavedRuns(t *testing.T) {
	want := map[uint32]savedRuns{
		1: {stamp: 7, runs: []flatrun.ID{{1}, {2}}, gone: flatrun.ID{3}},
		9: {stamp: 1 << 63},
	}
	row := appendSaved(appendSaved(nil, 1, want[1]), 9, want[9])
	if got := parseSaved(row); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v; want %+v", got, want)
	}
	for n := range row {
		for crawl, v := range parseSaved(row[:n]) {
			if !reflect.DeepEqual(v, want[crawl]) {
				t.Errorf("first %d bytes: got %+v of crawl %d", n, v, crawl)
			}
		}
	}
}

// TestFlatLoadsBehind fills the index behind Open, from runs and from rows, and
// closes a store that hasn't got so far.
func TestFlatLoadsBehind(t *testing.T) {
	for _, mode := range []IndexMode{IndexFlat, IndexFP64} {
		opt := flatOptions(vfs.NewMem())
		opt.Index = mode
		l := &flatLoad{t: t, s: mustOpen(t, "db", opt)}
		for range 30 {
			l.add(100)
		}
		if err := l.s.Close(); err != nil {
			t.Fatal(err)
		}
		opt.Index, opt.LoadBehind, opt.holdLoad = IndexFlat, true, make(chan struct{})
		l.s = mustOpen(t, "db", opt)
		if err := l.s.Close(); err != nil { // held up
			t.Fatal(err)
		}
		close(opt.holdLoad)
		l.s = mustOpen(t, "db", opt)
		l.wantAll()
		l.s = reopen(t, l.s, "db", opt)
		l.wantAll()
		if len(flatOf(l.s).runs) == 0 {
			t.Errorf("%s: got no runs", mode)
		}
		wantSound(t, l.s)
		if err := l.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
