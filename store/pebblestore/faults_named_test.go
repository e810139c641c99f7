package pebblestore

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// TestFaultsNameTheirFile: for each fault of a disk at which Pebble would end the process, the store fails, its error names the file, and Close
// returns, also that of an Open.
func TestFaultsNameTheirFile(t *testing.T) {
	for _, c := range []struct {
		what string
		kind errorfs.OpKind
		file string // a part of its name
	}{
		{"write of a log", errorfs.OpFileWrite, ".log"},
		{"sync of a log", errorfs.OpFileSyncData, ".log"},
		{"close of a log", errorfs.OpFileClose, ".log"},
		{"size of a log that is used again", errorfs.OpFileStat, ".log"},
		{"use of a log again", errorfs.OpReuseForWrite, ".log"},
		{"creation of a log", errorfs.OpCreate, ".log"},
		{"write of a manifest", errorfs.OpFileWrite, "MANIFEST-"},
		{"sync of a manifest", errorfs.OpFileSync, "MANIFEST-"},
		{"creation of a manifest", errorfs.OpCreate, "MANIFEST-"},
		{"creation of options", errorfs.OpCreate, "OPTIONS"},
		{"options that cannot be renamed", errorfs.OpRename, "OPTIONS"},
		{"creation of a marker", errorfs.OpCreate, "marker."},
		{"write of a table", errorfs.OpFileWrite, ".sst"},
		{"creation of a table", errorfs.OpCreate, ".sst"},
		{"write of the note", errorfs.OpFileWrite, noteTemp},
		{"rename of the note", errorfs.OpRename, noteTemp},
	} {
		t.Run(c.what, func(t *testing.T) {
			mem := vfs.NewMem()
			s := mustOpen(t, "db", Options{FS: mem})
			see(t, s, "", testKeys(0, 10))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, fromOpen := range []bool{false, true} {
				var broken, met atomic.Bool
				broken.Store(fromOpen)
				fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
					if broken.Load() && op.Kind == c.kind && strings.Contains(op.Path, c.file) {
						met.Store(true)
						return syscall.EIO
					}
					return nil
				}))
				var failed error
				hang.Within(t, c.what, func() {
					s, err := openPrepared("db", Options{FS: fs, BufferBytes: 1})
					if err != nil {
						failed = err
						return
					}
					broken.Store(true)
					for i := 0; failed == nil && i < 300; i++ {
						failed = s.See(t.Context(), "", testKeys(100*i, 100*i+100), make([]bool, 100), store.SeeOptions{})
						if failed == nil && i%50 == 0 {
							failed = errors.Join(s.db.Flush(), s.failure())
						}
					}
					failed = errors.Join(failed, s.Close())
				})
				if !met.Load() {
					continue
				}
				file := strings.TrimSuffix(c.file, ".tmp")
				if !errors.Is(failed, syscall.EIO) || !strings.Contains(failed.Error(), file) {
					t.Errorf("from Open on: %v: got %v; want EIO, and the name of the file", fromOpen, failed)
				}
			}
		})
	}
}
