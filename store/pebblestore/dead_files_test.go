package pebblestore

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// openFiles counts the files of a directory that this process has open.
func openFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Skip("this system does not list open files")
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// TestFailedStoreClosesFiles: Close of a store whose log cannot be written leaves no file
// open.
func TestFailedStoreClosesFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the files that a process has open are counted on Linux")
	}
	for range 3 {
		dir := t.TempDir()
		var full atomic.Bool
		fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
				return syscall.ENOSPC
			}
			return nil
		}))
		s := mustOpen(t, dir, Options{FS: fs})
		see(t, s, "", testKeys(0, 1000))
		flushRuns(t, s)
		if openFiles(t, dir) == 0 {
			t.Fatal("got no open file of an open store")
		}
		full.Store(true)
		fresh := make([]bool, 10)
		if err := s.See(t.Context(), "", testKeys(1000, 1010), fresh, store.SeeOptions{}); !errors.Is(err, store.ErrFailed) {
			t.Fatalf("got %v; want ErrFailed", err)
		}
		if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v; want that the disk is full", err)
		}
		if n := openFiles(t, dir); n > 0 {
			t.Errorf("got %d files open after Close; want none", n)
		}
		s = mustOpen(t, dir, Options{})
		wantSeen(t, s, "", 1000)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAddWhereAReadFails checks that an Add that cannot read a queue returns the error and changes
// nothing, and that the store continues.
func TestAddWhereAReadFails(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, "db", Options{FS: mem})
	for i := range 20 {
		addItems(t, s, placedItems(i*100, i*100+100))
	}
	completeSome(t, s, 2000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			return syscall.EIO
		}
		return nil
	}))
	s = mustOpen(t, "db", Options{FS: fs, tuning: tuning{noCache: true}})
	defer s.Close()
	broken.Store(true)
	if _, err := s.Add(t.Context(), "", placedItems(1990, 2010), store.AddOptions{}); !errors.Is(err, syscall.EIO) || errors.Is(err, store.ErrFailed) {
		t.Fatalf("got %v; want the error of the disk, of this call alone", err)
	}
	if n := see(t, s, "", testKeys(5000, 5010)); n != 10 {
		t.Errorf("got %d new; want 10", n)
	}
	unknown := []store.Item{{Key: testKey(6000), Queue: "a name that no queue ever had", URL: "u"}}
	if v, err := s.Add(t.Context(), "", unknown, store.AddOptions{}); err != nil || v[0].Status != store.New {
		t.Errorf("got %v, %v; want it new, without a read", v, err)
	}
	broken.Store(false)
	v, err := s.Add(t.Context(), "", placedItems(1990, 2010), store.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if want := []store.Status{store.Duplicate, store.New}[i/10]; v[i].Status != want {
			t.Errorf("item %d: got %v; want %v", i, v[i].Status, want)
		}
	}
	wantSound(t, s)
}

// mappedRuns counts the run files of a directory that this process has mapped.
func mappedRuns(t *testing.T, dir string) (n int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this system does not list mapped files")
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, dir) && strings.Contains(line, ".run") {
			n++
		}
	}
	return n
}

// TestFailedStoreUnmapsRuns: Close of a store that died while runs were merged or flushed
// leaves no run file mapped, and nothing is lost.
func TestFailedStoreUnmapsRuns(t *testing.T) {
	for name, write := range map[string]func(s *Store) error{
		"flush": func(s *Store) error { return s.flushRuns() },
		"merge": func(s *Store) error {
			parts, end := s.pickMerge(&merges{})
			if parts == nil {
				return nil
			}
			defer end()
			return s.mergeParts(parts)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var armed, full atomic.Bool
			fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if armed.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".run") {
					full.Store(true)
				}
				if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
					return syscall.ENOSPC
				}
				return nil
			}))
			s := mustOpen(t, dir, Options{FS: fs, tuning: tuning{flushKeys: 100}})
			for i := range 3 {
				see(t, s, "", testKeys(100*i, 100*i+100))
				flushRuns(t, s)
			}
			if err := s.do(t.Context(), 1, func(*txn) error { s.packed -= 1000; return nil }); err != nil { // the keeper flushes nothing, so that it merges nothing
				t.Fatal(err)
			}
			see(t, s, "", testKeys(300, 400))
			if name == "merge" {
				flushRuns(t, s)
			}
			armed.Store(true)
			if err := write(s); !errors.Is(err, store.ErrFailed) {
				t.Errorf("got %v; want ErrFailed", err)
			}
			if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v; want that the disk is full", err)
			}
			if n := mappedRuns(t, dir); n > 0 {
				t.Errorf("got %d run files mapped after Close; want none", n)
			}
			s = mustOpen(t, dir, Options{})
			if n := see(t, s, "", testKeys(0, 400)); n != 0 {
				t.Errorf("got %d new; want none", n)
			}
			wantSound(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFailedOpenUnmapsRuns: an Open that fails leaves no run file mapped.
func TestFailedOpenUnmapsRuns(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	see(t, s, "", testKeys(0, 100))
	flushRuns(t, s)
	if mappedRuns(t, dir) == 0 {
		t.Fatal("got no mapped run file of an open store")
	}
	c := s.crawls[store.DefaultCrawl]
	wrong := *c.gens[0]
	wrong.keys++
	if err := s.db.Set(appendNumbered(nil, tableGen, wrong.num), appendGeneration(nil, c.num, &wrong), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("got %v; want ErrCorrupt", err)
	}
	if n := mappedRuns(t, dir); n > 0 {
		t.Errorf("got %d run files mapped after Open failed; want none", n)
	}
}

// TestFailedStoreWritesNothing checks that nothing of a store that has failed reaches its
// directory: no write, no new or renamed file, no removal of what the log or manifest on the disk
// may need.
func TestFailedStoreWritesNothing(t *testing.T) {
	for _, kind := range []string{".log", ".sst", "MANIFEST"} {
		t.Run(kind, func(t *testing.T) {
			disk := newFullDisk(kind)
			close(disk.full)
			var failed atomic.Pointer[Store]
			fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if s := failed.Load(); s != nil && s.isDead() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && !isHarmless(op) {
					t.Errorf("%v of %s", op.Kind, op.Path)
				}
				return disk.error(op)
			}))
			s := mustOpen(t, "db", tiny(fs))
			see(t, s, "", testKeys(0, 20_000))
			disk.on.Store(true)
			failed.Store(s)
			hang.Within(t, "the failure", func() {
				for i := 20_000; !s.isDead(); i += 100 {
					_ = s.See(t.Context(), "", testKeys(i, i+100), make([]bool, 100), store.SeeOptions{})
				}
			})
			if _, err := s.db.AsyncFlush(); err != nil { // as the committer may still write
				t.Error(err)
			}
			hang.Within(t, "Close", func() {
				if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("got %v; want that the disk is full", err)
				}
			})
		})
	}
}

// TestFailedStoreEndsGoroutines checks that Close of stores whose log cannot be written leaves no
// goroutine.
func TestFailedStoreEndsGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		disk := newFullDisk(".log")
		close(disk.full)
		s := mustOpen(t, "db", tiny(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.error))))
		disk.on.Store(true)
		if err := s.See(t.Context(), "", testKeys(0, 10), make([]bool, 10), store.SeeOptions{}); !errors.Is(err, store.ErrFailed) {
			t.Fatalf("got %v; want ErrFailed", err)
		}
		_ = s.Close()
	}
	hang.Until(t, "the end of goroutines", func() bool { return runtime.NumGoroutine() <= before+1 })
}
