package pebblestore

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
)

// TestOpenOnFullDisk: a log that can't be replayed because no table can be
// written ends the open with an error, and nothing is lost.
func TestOpenOnFullDisk(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s, err := openPrepared("db", Options{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	keys, fresh := []store.Key{{1}, {2}}, make([]bool, 2)
	if err := s.See(t.Context(), "", keys, fresh, store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	after := mem.CrashClone(vfs.CrashCloneCfg{}) // the log holds the keys, no table does
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	full := errorfs.Wrap(after, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	}))
	if _, err := Open("db", Options{FS: full}); !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v; want that the disk is full", err)
	}
	s, err = openPrepared("db", Options{FS: after}) // room again
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.See(t.Context(), "", keys, fresh, store.SeeOptions{}); err != nil || fresh[0] || fresh[1] {
		t.Errorf("got fresh %v, %v; want what was acknowledged to be there", fresh, err)
	}
}
