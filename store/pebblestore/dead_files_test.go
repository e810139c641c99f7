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

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

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
			if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && isLog(op.Path) {
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
	s = mustOpen(t, "db", Options{FS: fs, CacheBytes: 1})
	defer s.Close()
	broken.Store(true)
	if _, err := s.Add(t.Context(), "", placedItems(1990, 2010), store.AddOptions{}); !errors.Is(err, syscall.EIO) || errors.Is(err, store.ErrFailed) {
		t.Fatalf("got %v; want the error of the disk, of this call alone", err)
	}
	if n := see(t, s, "", testKeys(5000, 5010)); n != 10 {
		t.Errorf("got %d new; want 10", n)
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
