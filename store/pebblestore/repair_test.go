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

	"github.com/firstseen/firstseen/store"
)

// logged returns a disk as a power cut leaves it: 20 batches of 500 keys are in as many logs as
// write buffers of a size have, and in no table.
func logged(t *testing.T, memTableBytes int) (disk *vfs.MemFS, opt Options) {
	t.Helper()
	mem, disk := vfs.NewMem(), vfs.NewMem()
	tables := newFullDisk(".sst")
	opt = tiny(errorfs.Wrap(mem, errorfs.InjectorFunc(tables.error)))
	opt.memTableBytes = memTableBytes
	s := mustOpen(t, "db", opt)
	first := logsOf(t, mem, "0") // Pebble has ended it, and may remove it or use it again
	tables.on.Store(true)
	for i := range 20 {
		see(t, s, "", testKeys(500*i, 500*i+500))
	}
	if _, err := vfs.Clone(mem, disk, "db", "db"); err != nil {
		t.Fatal(err)
	}
	if len(first) > 1 {
		_ = disk.Remove("db/" + slices.Min(first))
	}
	tables.on.Store(false)
	close(tables.full)
	_ = s.Close() // it may have failed by then
	return disk, opt.on(disk)
}

// logsOf returns the logs on a disk.
func logsOf(t *testing.T, disk vfs.FS, prefix string) (logs []string) {
	t.Helper()
	names, err := disk.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") && strings.HasPrefix(name, prefix) {
			logs = append(logs, name)
		}
	}
	return logs
}

// TestRepairLog damages the middle of one log, and of the first of several. Open must refuse the
// store, and OpenRepair open it with the batches before the damage, whole, and report the loss.
func TestRepairLog(t *testing.T) {
	for name, memTableBytes := range map[string]int{"one log": 8 << 20, "several logs": 96 << 10} {
		t.Run(name, func(t *testing.T) {
			disk, opt := logged(t, memTableBytes)
			logs := len(logsOf(t, disk, "0"))
			if (logs > 1) != (memTableBytes < 1<<20) {
				t.Fatalf("got %d logs; want %s", logs, name)
			}
			if err := flip(disk, ".log", 3); err != nil {
				t.Fatal(err)
			}
			for range 2 { // nothing is changed by a refusal
				s, err := openPrepared("db", opt)
				if err == nil {
					_ = s.Close()
				}
				if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "--repair") || !strings.Contains(err.Error(), "damaged after") {
					t.Fatalf("got %v; want ErrCorrupt, where, and what to do", err)
				}
			}
			opt.Mode = OpenRepair
			s := mustOpen(t, "db", opt)
			r, err := s.Verify(t.Context())
			if err != nil || len(r.Findings) > 0 || len(r.Repaired) != 1 || !strings.Contains(r.Repaired[0], "damaged after") {
				t.Errorf("got %+v, %v; want the cut reported, and nothing found", r, err)
			}
			if n := r.Keys; n%500 != 0 || n == 10_000 || memTableBytes > 1<<20 && n == 0 {
				t.Errorf("got %d keys; want those of the batches before the damage", n)
			}
			if aside := logsOf(t, disk, "damaged-"); len(aside) == 0 || len(aside) > logs {
				t.Errorf("got %v kept; want the damaged log and those after it", aside)
			}
			known := r.Keys
			opt.Mode = OpenOrCreate
			s = reopen(t, s, "db", opt)
			defer s.Close()
			if n := see(t, s, "", testKeys(0, int(known))); n > 0 {
				t.Errorf("%d keys from before the damage are lost", n)
			}
			if n := see(t, s, "", testKeys(0, 10_000)); int64(n) != 10_000-known {
				t.Errorf("got %d new; want %d", n, 10_000-known)
			}
			wantSound(t, s)
		})
	}
}

// TestRepairLogFails lets each write of a repair fail in turn, with all later ones, as if the power
// were cut. The store must then be refused, or have what the repair leaves.
func TestRepairLogFails(t *testing.T) {
	disk, opt := logged(t, 96<<10)
	if err := flip(disk, ".log", 3); err != nil {
		t.Fatal(err)
	}
	keysOf := func(disk vfs.FS, mode Mode) (int64, error) {
		opt := opt.on(disk)
		opt.Mode = mode
		s, err := openPrepared("db", opt)
		if err != nil {
			return 0, err
		}
		r, err := s.Verify(t.Context())
		return r.Keys, errors.Join(err, s.Close())
	}
	clone := func(from *vfs.MemFS) *vfs.MemFS {
		to := vfs.NewMem()
		if _, err := vfs.Clone(from, to, "db", "db"); err != nil {
			t.Fatal(err)
		}
		return to
	}
	want, err := keysOf(clone(disk), OpenRepair)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at, last := int64(0), false; !last; at++ {
		var reached atomic.Bool
		var ops atomic.Int64
		torn := clone(disk)
		fs := errorfs.Wrap(torn, errorfs.InjectorFunc(func(op errorfs.Op) error {
			ours := strings.Contains(op.Path, "repair.tmp") || op.Kind == errorfs.OpRename || op.Kind == errorfs.OpLink
			if !reached.Load() && (!ours || op.Kind.ReadOrWrite() != errorfs.OpIsWrite) {
				return nil
			}
			if ops.Add(1) > at {
				reached.Store(true)
				return syscall.EIO
			}
			return nil
		}))
		if _, err := keysOf(fs, OpenRepair); reached.Load() && err == nil {
			t.Errorf("write %d: got no error; want EIO", at)
		}
		last = !reached.Load()
		n, err := keysOf(torn, OpenOrCreate)
		if errors.Is(err, store.ErrCorrupt) {
			refused++
			n, err = keysOf(torn, OpenRepair)
		}
		if err != nil || n != want {
			t.Errorf("write %d: got %d keys, %v; want %d", at, n, err, want)
		}
	}
	if refused < 3 {
		t.Errorf("got %d refusals; want one for each write before the last", refused)
	}
}
