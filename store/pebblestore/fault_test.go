package pebblestore

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// tiny are options under which a small load flushes and compacts.
func tiny(fs vfs.FS) Options {
	return Options{FS: fs, CacheBytes: 1 << 20, tuning: tuning{memTableBytes: 64 << 10, tableBytes: 32 << 10}}
}

// faultyLoad opens a store on a file system that fails, adds keys in batches, and returns the acknowledged ones. Every error must be that the store failed.
func faultyLoad(t *testing.T, fsys vfs.FS, want error) (acked []store.Key, failed bool) {
	t.Helper()
	s, err := openPrepared("db", tiny(fsys))
	if err != nil {
		if !errors.Is(err, want) {
			t.Errorf("got %v at open; want %v", err, want)
		}
		return nil, true
	}
	for i := range 40 {
		keys := testKeys(500*i, 500*i+500)
		err := s.See(context.Background(), "", keys, make([]bool, len(keys)), store.SeeOptions{})
		if err != nil {
			failed = true
			if !errors.Is(err, store.ErrFailed) || !errors.Is(err, want) {
				t.Errorf("got %v; want ErrFailed and %v", err, want)
			}
			continue // it stays failed
		}
		if failed {
			t.Errorf("an add was acknowledged after one that failed")
		}
		acked = append(acked, keys...)
	}
	if err := s.Close(); err != nil {
		failed = true
	}
	return acked, failed
}

// wantKeys opens the store on a disk, and checks that it has the keys and no damage.
func wantKeys(t *testing.T, fsys vfs.FS, keys []store.Key) {
	t.Helper()
	s, err := openPrepared("db", tiny(fsys))
	if err != nil {
		t.Errorf("cannot open after the fault: %v", err)
		return
	}
	defer s.Close()
	wantSound(t, s)
	if len(keys) == 0 {
		return
	}
	if n := see(t, s, "", keys); n != 0 {
		t.Errorf("%d of %d acknowledged keys are lost", n, len(keys))
	}
}

// TestEveryWriteFails fails the n-th write, for every n of a load, once and permanently, and then
// opens the disk after a power cut.
func TestEveryWriteFails(t *testing.T) {
	errDisk := errors.New("the disk is broken")
	count := tortureCount(t, 60, 2000)
	runs, failures := 0, 0
	for _, once := range []bool{true, false} {
		for n := range count {
			at := int64(n)
			if count < 1000 {
				at = int64(n * 11) // a sample
			}
			mem := vfs.NewCrashableMem()
			reached, errs := runFault(t, mem, at, once, errDisk)
			if errs {
				failures++
			}
			runs++
			if t.Failed() {
				t.Fatalf("write %d, once %v", at, once)
			}
			if !reached {
				break
			}
		}
	}
	t.Logf("%d runs, the store failed in %d", runs, failures)
}

func runFault(t *testing.T, mem *vfs.MemFS, at int64, once bool, errDisk error) (reached, failed bool) {
	var ops atomic.Int64
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || isHarmless(op) {
			return nil
		}
		if n := ops.Add(1) - 1; n == at || n > at && !once {
			return errDisk
		}
		return nil
	}))
	var acked []store.Key
	hang.Within(t, "a caller", func() { acked, failed = faultyLoad(t, fsys, errDisk) })
	wantKeys(t, mem.CrashClone(vfs.CrashCloneCfg{}), acked)
	return ops.Load() > at, failed
}

// isHarmless reports whether Pebble treats the failure of an operation as a programming error: it
// panics if it cannot close a file or lock.
func isHarmless(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileClose && !strings.HasSuffix(op.Path, ".log")
}

// TestDiskFull fills the disk at some point, permanently.
func TestDiskFull(t *testing.T) {
	for _, room := range []int64{50 << 10, 150 << 10, 250 << 10} {
		mem := vfs.NewCrashableMem()
		full := &limited{room: room}
		acked, failed := faultyLoad(t, errorfs.Wrap(mem, errorfs.InjectorFunc(full.error)), syscall.ENOSPC)
		if !failed {
			t.Errorf("%d bytes: nobody was told that the disk is full", room)
		}
		wantKeys(t, mem.CrashClone(vfs.CrashCloneCfg{}), acked)
	}
}

// limited is a disk with room for a number of writes. errorfs does not report their sizes, so each
// counts as 4 kB.
type limited struct {
	mu   sync.Mutex
	room int64
}

func (l *limited) error(op errorfs.Op) error {
	if op.Kind != errorfs.OpFileWrite && op.Kind != errorfs.OpFileWriteAt && op.Kind != errorfs.OpCreate && op.Kind != errorfs.OpFilePreallocate {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.room -= 4096; l.room < 0 {
		return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
	}
	return nil
}

// TestReadOnlyDisk opens a store on a disk that can't be written.
func TestReadOnlyDisk(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, "db", tiny(mem))
	see(t, s, "", testKeys(0, 5000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ro := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.EROFS}
		}
		return nil
	}))
	wantOpenError(t, "db", tiny(ro), syscall.EROFS)
	opt := tiny(ro)
	opt.Mode = OpenReadOnly
	s = mustOpen(t, "db", opt)
	defer s.Close()
	wantSeen(t, s, "", 5000)
	wantSound(t, s)
	err := s.See(context.Background(), "", testKeys(0, 1), make([]bool, 1), store.SeeOptions{})
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v; want ErrInvalid", err)
	}
}

// TestDamagedFiles changes bytes of tables and of the log. Open or Verify must report the damage with
// advice, unless it has no effect. Acknowledged keys must never be missing without a report.
func TestDamagedFiles(t *testing.T) {
	for _, suffix := range []string{".sst", ".log"} {
		noticed := 0
		for part := range 5 { // damage near the end of a log can look like a torn write
			if damage(t, suffix, part) {
				noticed++
			}
		}
		if noticed < 3 {
			t.Errorf("%s: noticed %d of 5 damages; want most", suffix, noticed)
		}
	}
}

// damage changes one byte of a store on disk and reports whether that was detected.
func damage(t *testing.T, suffix string, part int) bool {
	mem := vfs.NewMem()
	opt := tiny(mem)
	if suffix == ".log" {
		opt.memTableBytes = 8 << 20 // all in the log
	}
	s := mustOpen(t, "db", opt)
	keys := testKeys(0, 10_000)
	for i := range 20 {
		see(t, s, "", keys[500*i:500*i+500])
	}
	disk := vfs.NewMem()
	if suffix == ".sst" {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vfs.Clone(mem, disk, "db", "db"); err != nil {
		t.Fatal(err)
	}
	if suffix == ".log" {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := flip(disk, suffix, part); err != nil {
		t.Fatal(err)
	}
	err := verifyDisk(t, opt.on(disk), keys)
	if err == nil {
		return false
	}
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "restore") {
		t.Errorf("%s, part %d: got %v; want ErrCorrupt, and what to do", suffix, part, err)
	}
	return true
}

// verifyDisk opens and verifies a store, and wants keys in it if that is well.
func verifyDisk(t *testing.T, opt Options, keys []store.Key) error {
	s, err := openPrepared("db", opt)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Verify(context.Background())
	if err != nil {
		return err
	}
	if len(r.Findings) > 0 {
		t.Errorf("got %v; want an error or nothing", r.Findings)
	}
	if n := see(t, s, "", keys); n != 0 {
		t.Errorf("%d keys are lost, and nobody said so", n)
	}
	return nil
}

func (o Options) on(fs vfs.FS) Options { o.FS = fs; return o }

// flip inverts a byte in the largest file of a kind: part eighths into it.
func flip(fsys vfs.FS, suffix string, part int) error {
	names, err := fsys.List("db")
	if err != nil {
		return err
	}
	var path string
	var size int64
	for _, name := range names {
		p := fsys.PathJoin("db", name)
		if info, err := fsys.Stat(p); err == nil && strings.HasSuffix(name, suffix) && info.Size() > size {
			path, size = p, info.Size()
		}
	}
	f, err := fsys.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	at := size * int64(2*part+1) / 16
	b := []byte{0}
	if _, err := f.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Close()
}
