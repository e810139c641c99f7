package pebblestore

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestManifestBeforeMarker: when the marker of a manifest comes into being, the
// manifest's name is safe: a power cut can't leave the one without the other.
func TestManifestBeforeMarker(t *testing.T) {
	mem := vfs.NewCrashableMem()
	markers := 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind != errorfs.OpCreate || !strings.Contains(op.Path, "marker.manifest") {
			return nil
		}
		markers++
		if live, kept := lastManifest(t, mem), lastManifest(t, mem.CrashClone(vfs.CrashCloneCfg{})); live == "" || live != kept {
			t.Errorf("got %q after a power cut; want %q, which %s names", kept, live, op.Path)
		}
		return nil
	}))
	for range 2 {
		s := mustOpen(t, "db", Options{FS: fs})
		see(t, s, "", testKeys(0, 10))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if markers < 2 {
		t.Errorf("got %d markers; want one for each time it was opened", markers)
	}
}

// TestMarkerWithoutDirectory checks that the store fails if the directory cannot be opened for the sync
// before a marker: Pebble would end the process.
func TestMarkerWithoutDirectory(t *testing.T) {
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpenDir {
			return syscall.EMFILE
		}
		return nil
	}))
	h := newHealth()
	f, err := newWatchFS("db", Options{FS: fs}, h, nil).Create("db/marker.manifest.000002.MANIFEST-000003", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatalf("got %v; want that Pebble does not learn of it", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if !h.isDead() {
		t.Error("the store goes on; want it failed")
	}
}

// TestWatchFSErrors checks which errors of a disk fail the store, before they return, and which of them
// Pebble gets.
func TestWatchFSErrors(t *testing.T) {
	for _, c := range []struct {
		name, purpose string
		told, fails   bool
	}{
		{"db/000001.log", "pebble-wal", false, true},
		{"db/MANIFEST-000001", "pebble-manifest", false, true},
		{"db/000002.sst", "pebble-memtable-flush", true, false},
		{"db/000003.sst", "pebble-compaction", true, false},
		{"db/000004.blob", "pebble-blob-file-rewrite", true, false},
		{"backup/000005.sst", "", true, false},
	} {
		for _, what := range []string{"create", "write", "sync"} {
			var broken atomic.Bool
			fs, h := brokenFS(t, &broken)
			broken.Store(what == "create")
			f, err := fs.Create(c.name, vfs.DiskWriteCategory(c.purpose))
			if what != "create" {
				if err != nil {
					t.Fatal(err)
				}
				broken.Store(true)
				if what == "write" {
					_, err = f.Write([]byte("row"))
				} else {
					err = f.Sync()
				}
			}
			if told, fails := err != nil, h.isDead(); told != c.told || fails != c.fails {
				t.Errorf("%s of %s: Pebble got %v, the store failed: %v; want an error: %v, failed: %v", what, c.name, err, fails, c.told, c.fails)
			}
		}
	}
}

// TestWatchFSAfterAFailure checks that nothing reaches the disk of a store that has failed, and that no write but
// those of compactions returns an error.
func TestWatchFSAfterAFailure(t *testing.T) {
	var broken atomic.Bool
	fs, h := brokenFS(t, &broken)
	files := map[string]vfs.File{}
	for name, purpose := range map[string]string{"db/000001.log": "pebble-wal", "db/000002.sst": "pebble-memtable-flush", "db/000003.sst": "pebble-compaction"} {
		f, err := fs.Create(name, vfs.DiskWriteCategory(purpose))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	h.die(syscall.EIO)
	broken.Store(true) // what reaches the disk now returns an error
	for name, f := range files {
		_, err := f.Write([]byte("row"))
		for what, err := range map[string]error{"Write": err, "Sync": f.Sync(), "SyncData": f.SyncData()} {
			if told, want := err != nil, name == "db/000003.sst"; told != want || errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s of %s: got %v; want that the store failed: %v", what, name, err, want)
			}
		}
	}
	_, created := fs.Create("db/000004.log", "pebble-wal")
	_, reused := fs.ReuseForWrite("db/000001.log", "db/000005.log", "pebble-wal")
	_, marked := fs.Create("db/marker.manifest.000001.MANIFEST-000001", vfs.WriteCategoryUnspecified)
	for what, err := range map[string]error{
		"Create": created, "ReuseForWrite": reused, "Create of a marker": marked,
		"Remove": fs.Remove("db/000002.sst"), "Rename": fs.Rename("db/000002.sst", "db/000006.sst"),
	} {
		if err != nil {
			t.Errorf("%s: got %v; want that it was dropped", what, err)
		}
	}
	if _, err := fs.Create("db/000007.sst", "pebble-compaction"); err == nil {
		t.Error("a compaction was told that its table was created")
	}
}

// brokenFS returns the file system of a store whose disk is full while broken is set.
func brokenFS(t *testing.T, broken *atomic.Bool) (*watchFS, *health) {
	t.Helper()
	mem := vfs.NewMem()
	for _, dir := range []string{"db", "backup"} {
		if err := mem.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	h := newHealth()
	return newWatchFS("db", Options{FS: fs}, h, nil), h
}

// lastManifest is the name of the newest manifest, "" when there is none.
func lastManifest(t *testing.T, fs vfs.FS) (last string) {
	names, err := fs.List("db")
	if err != nil {
		t.Error(err)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, "MANIFEST-") {
			last = name
		}
	}
	return last
}
