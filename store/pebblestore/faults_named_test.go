package pebblestore

import (
	"errors"
	"os"
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
		{"creation of options", errorfs.OpCreate, ".dbtmp"},
		{"options that cannot be renamed", errorfs.OpRename, ".dbtmp"},
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
				if c.kind == errorfs.OpRename && c.file == ".dbtmp" {
					file = "OPTIONS"
				}
				if !errors.Is(failed, syscall.EIO) || !strings.Contains(failed.Error(), file) {
					t.Errorf("from Open on: %v: got %v; want EIO, and the name of the file", fromOpen, failed)
				}
			}
		})
	}
}

// TestUnreadableFiles: a file that may not be read is named, whatever it is, and the store is not said to be locked.
func TestUnreadableFiles(t *testing.T) {
	made := func() (mem *vfs.MemFS, names []string) {
		mem = vfs.NewMem()
		s := mustOpen(t, "db", Options{FS: mem, BufferBytes: 1})
		see(t, s, "", testKeys(0, 10))
		names, err := mem.List("db")
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		return mem, names
	}
	_, names := made()
	refused := map[string]bool{}
	for _, name := range names {
		for _, mode := range []Mode{OpenExisting, OpenReadOnly} {
			mem, _ := made()
			path := mem.PathJoin("db", name)
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpOpen && op.Path == path {
					return &os.PathError{Op: "open", Path: path, Err: syscall.EACCES}
				}
				return nil
			}))
			s, err := openPrepared("db", Options{FS: fs, Mode: mode})
			if err == nil { // it needs no such file
				if err := s.Close(); err != nil {
					t.Errorf("%s, mode %v: %v", name, mode, err)
				}
				continue
			}
			refused[strings.TrimRight(strings.TrimSuffix(name, ".log"), "-0123456789")] = true
			if errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), path) || !errors.Is(err, syscall.EACCES) {
				t.Errorf("%s, mode %v: got %v; want that %s may not be read", name, mode, err, path)
			}
		}
	}
	for _, kind := range []string{"OPTIONS", "firstseen.store"} {
		if !refused[kind] {
			t.Errorf("got refusals for %v; want one for %s", refused, kind)
		}
	}
}
