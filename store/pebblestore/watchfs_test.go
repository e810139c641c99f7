package pebblestore

import (
	"slices"
	"strings"
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
	f, err := newWatchFS("db", Options{FS: fs}, h).Create("db/marker.manifest.000002.MANIFEST-000003", vfs.WriteCategoryUnspecified)
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
