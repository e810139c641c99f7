package pebblestore

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// fullDisk is a disk where files of a kind can't be written: until full is closed
// their writers wait, and then it has no room.
type fullDisk struct {
	kind    string
	on      atomic.Bool
	reached atomic.Bool
	full    chan struct{}
}

func newFullDisk(kind string) *fullDisk { return &fullDisk{kind: kind, full: make(chan struct{})} }

func (d *fullDisk) error(op errorfs.Op) error {
	if !d.on.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !strings.Contains(op.Path, d.kind) || isHarmless(op) {
		return nil
	}
	d.reached.Store(true)
	<-d.full
	return syscall.ENOSPC
}

// openStuck returns a store whose committer waits in Pebble, in the middle of a step,
// for room that the disk won't have.
func openStuck(t *testing.T) (*Store, *fullDisk) {
	t.Helper()
	disk := newFullDisk(".sst")
	s := mustOpen(t, "db", tiny(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.error))))
	items := []store.Item{{Key: testKey(0), Queue: "q", URL: "first"}}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	see(t, s, "", testKeys(1, 100_000))
	see(t, s, "", testKeys(1, 2)) // if the keys were worth a flush, the committer has begun that now
	disk.on.Store(true)
	go func() {
		_ = s.do(context.Background(), 1, func(tx *txn) error {
			for i := 1; i < 100_000 && !s.isDead(); i += 1000 {
				o := &forgetOp{sel: store.Selection{Keys: testKeys(i, i+1000)}}
				tx.left = budget{1000, partBytes}
				if err := o.apply(tx); err != nil {
					return err
				}
				tx.flush()
			}
			return nil
		})
	}()
	hang.Until(t, "the write that waits for room", func() bool { return s.stalls.all() > 0 && locked(s) })
	return s, disk
}

// locked reports whether the state is locked for writing.
func locked(s *Store) bool {
	if s.mu.TryRLock() {
		s.mu.RUnlock()
		return false
	}
	return true
}

// TestFullDiskHangsNobody checks that readers and Close get an error if the disk is full while the
// committer is in the middle of a step.
func TestFullDiskHangsNobody(t *testing.T) {
	s, disk := openStuck(t)
	ctx := context.Background()
	var wg sync.WaitGroup
	reads := map[string]func() error{
		"Stats":   func() error { _, err := s.Stats(ctx, "*"); return err },
		"Crawls":  func() error { _, err := s.Crawls(ctx); return err },
		"Metrics": func() error { _, err := s.Metrics(ctx); return err },
		"Export":  func() error { _, err := s.Export(ctx, io.Discard, ""); return err },
		"Keys":    func() error { return firstError(s.Keys(ctx, "")) },
		"Index":   func() error { s.Index(); return s.failure() },
		"an add that tells the first spelling": func() error {
			return errors.Join(s.tellFirst(duplicateOf(s, testKey(0))), s.failure())
		},
	}
	hang.Within(t, "Identity", func() { s.Identity() }) // returns without a lock
	var begun, ended atomic.Int64
	for name, read := range reads {
		wg.Go(func() {
			begun.Add(1)
			defer ended.Add(1)
			if err := read(); !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: got %v; want ErrFailed, and that the disk is full", name, err)
			}
		})
	}
	untilWaiting(t, &begun, &ended, int64(len(reads)))
	close(disk.full)
	hang.Within(t, "a reader of a dead store", wg.Wait)
	hang.Within(t, "Close", func() {
		if err := s.Close(); !errors.Is(err, store.ErrFailed) {
			t.Errorf("got %v at Close; want ErrFailed", err)
		}
	})
	if info := s.Index(); info != (IndexInfo{}) {
		t.Errorf("got %+v of a dead store; want nothing", info)
	}
}

// untilWaiting returns when n goroutines have begun to read, and had time to. None may have ended.
func untilWaiting(t *testing.T, begun, ended *atomic.Int64, n int64) {
	t.Helper()
	hang.Until(t, "the start of readers", func() bool { return begun.Load() >= n })
	time.Sleep(20 * time.Millisecond)
	if ended.Load() > 0 {
		t.Errorf("%d of %d readers did not wait", ended.Load(), n)
	}
}

func firstError[T any](seq func(func(T, error) bool)) (err error) {
	seq(func(_ T, e error) bool {
		err = e
		return e == nil
	})
	return err
}

// duplicateOf is an answered add of a key whose first-seen URL must be returned, and is not in the
// cache.
func duplicateOf(s *Store, k store.Key) *addOp {
	c := s.crawls[store.DefaultCrawl]
	s.texts.drop(c.num, &k)
	return &addOp{
		c: c, items: []store.Item{{Key: k, URL: "second"}}, order: []uint32{0},
		verdicts: []store.Verdict{{Status: store.Duplicate}},
	}
}

// TestFullLevelHangsNobody checks that callers and Close get an error if no table can be written while
// writes are stopped because L0 is full.
func TestFullLevelHangsNobody(t *testing.T) {
	disk := newFullDisk(".sst")
	close(disk.full)
	fs := heldCompactions{errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.error)), make(chan struct{})}
	opt := tiny(fs)
	opt.groupKeys = 1
	s := mustOpen(t, "db", opt)
	failed := make(chan error)
	go func() {
		for i := 0; ; i += 100 {
			if err := s.See(context.Background(), "", testKeys(i, i+100), make([]bool, 100), store.SeeOptions{}); err != nil {
				failed <- err
				return
			}
			_ = s.db.Flush()
		}
	}()
	hang.Until(t, "the writer that is stopped", func() bool { return s.pace.depth() >= paceStop })
	time.Sleep(2 * paceMost)
	if n := s.pace.depth(); n > paceStop+10 { // pace asks again after some writes
		t.Errorf("L0 has %d sublevels; want that writes stop soon after %d", n, paceStop)
	}
	disk.on.Store(true)
	close(fs.held)
	hang.Within(t, "the failure of compactions", func() {
		if err := <-failed; !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v; want ErrFailed, and that the disk is full", err)
		}
	})
	hang.Within(t, "Close", func() { _ = s.Close() })
}

// TestManifestHangsNobody checks the store after a goroutine of Pebble could not write the manifest,
// and keeps Pebble's locks. Callers that request metrics, or close a snapshot or the last iterator, must
// get an error, and so must Close.
func TestManifestHangsNobody(t *testing.T) {
	for name, steps := range map[string]int64{"before its snapshot is read": 1, "between rows": 2} {
		t.Run("Verify held up "+name, func(t *testing.T) { failManifestInVerify(t, steps) })
	}
}

// failManifestInVerify has the manifest fail while a Verify waits for the answer to one
// of its steps.
func failManifestInVerify(t *testing.T, step int64) {
	disk, held := newFullDisk("MANIFEST"), &heldGroup{}
	s := mustOpen(t, "db", Options{FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.error)), tuning: tuning{observe: held.group}})
	see(t, s, "", testKeys(0, askedKeys+1000))
	held.skip.Store(step - 1)
	held.until.Store(&s.dead)
	failed := make(chan error, 2)
	go func() { _, err := s.Verify(context.Background()); failed <- err }()
	hang.Until(t, "the Verify that is held up", func() bool { return held.held.Load() })
	disk.failFlush(t, s)
	var begun, ended atomic.Int64
	go func() {
		begun.Add(1)
		_, err := s.Metrics(context.Background())
		ended.Add(1)
		failed <- err
	}()
	untilWaiting(t, &begun, &ended, 1)
	close(disk.full)
	hang.Within(t, "a reader", func() {
		for range 2 {
			if err := <-failed; !errors.Is(err, store.ErrFailed) {
				t.Errorf("got %v; want ErrFailed", err)
			}
		}
	})
	hang.Within(t, "Close", func() { _ = s.Close() })
}

// failFlush has Pebble begin a flush, which fails once full is closed.
func (d *fullDisk) failFlush(t *testing.T, s *Store) {
	t.Helper()
	d.on.Store(true)
	if _, err := s.db.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	hang.Until(t, "the flush", func() bool { return d.reached.Load() })
}

// TestManifestHangsNoIterator fails the manifest while each kind of reader is in the middle of a row.
// Its table is replaced in the meantime, so it is the last reader of it.
func TestManifestHangsNoIterator(t *testing.T) {
	ctx := context.Background()
	for name, read := range map[string]func(*Store) error{
		"Verify": func(s *Store) error { _, err := s.Verify(ctx); return err },
		"an add that tells the first spelling": func(s *Store) error {
			return errors.Join(s.tellFirst(duplicateOf(s, testKey(0))), s.failure())
		},
	} {
		t.Run(name, func(t *testing.T) { failManifestWhile(t, read) })
	}
}

// failManifestWhile has the manifest fail while a reader waits for a table.
func failManifestWhile(t *testing.T, read func(*Store) error) {
	disk, tables := newFullDisk("MANIFEST"), &heldReads{release: make(chan struct{})}
	fs := errorfs.Wrap(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.error)), errorfs.InjectorFunc(tables.error))
	opt := Options{FS: fs, tuning: tuning{noCache: true}}
	s := mustOpen(t, "db", opt)
	items := []store.Item{{Key: testKey(0), Queue: "q", URL: "first"}}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	see(t, s, "", testKeys(1, 1000))
	s = reopen(t, s, "db", opt)
	see(t, s, "", testKeys(1000, 1001)) // there is something to flush
	hang.Until(t, "Pebble, which reads new tables itself", func() bool { return s.db.Metrics().Table.InitialStatsCollectionComplete })
	tables.on.Store(true)
	failed := make(chan error, 1)
	go func() { failed <- read(s) }()
	hang.Until(t, "the read of a table", func() bool { return tables.reached.Load() })
	disk.failFlush(t, s)
	close(disk.full)
	hang.Within(t, "the death of the store", func() { <-s.dead })
	close(tables.release)
	hang.Within(t, "the reader", func() {
		if err := <-failed; !errors.Is(err, store.ErrFailed) {
			t.Errorf("got %v; want ErrFailed", err)
		}
	})
	hang.Within(t, "Close", func() { _ = s.Close() })
}

// heldReads blocks reads of a table.
type heldReads struct {
	on, reached atomic.Bool
	release     chan struct{}
}

func (h *heldReads) error(op errorfs.Op) error {
	if h.on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
		h.reached.Store(true)
		<-h.release
	}
	return nil
}

// heldGroup holds up the answer to a group, after some, until a channel is closed.
type heldGroup struct {
	until atomic.Pointer[chan struct{}]
	skip  atomic.Int64
	held  atomic.Bool
}

func (h *heldGroup) group(groupInfo) {
	if until := h.until.Load(); until != nil && h.skip.Add(-1) < 0 {
		h.held.Store(true)
		<-*until
	}
}

// TestFillOfDeadStore checks that Close of a failed store returns while the index is filled.
func TestFillOfDeadStore(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, "db", Options{FS: fs, tuning: tuning{flushKeys: 10}})
	see(t, s, "", testKeys(0, 100))
	flushRuns(t, s)
	hold := make(chan struct{})
	s = reopen(t, s, "db", Options{FS: fs, tuning: tuning{flushKeys: 10, holdFill: hold}})
	step := newHeldStep()
	go step.run(s)
	<-step.entered
	close(hold) // the filling waits for the committer
	s.die(syscall.ENOSPC)
	close(step.release)
	hang.Within(t, "Close", func() {
		if err := s.Close(); !errors.Is(err, store.ErrFailed) {
			t.Errorf("got %v; want ErrFailed", err)
		}
	})
}

// TestOpenWhereAWriteFails fails each write of an open in turn, of a new store and of
// one with another Unicode version, once and permanently. No call may hang, and the directory must
// open again.
func TestOpenWhereAWriteFails(t *testing.T) {
	step := int64(1)
	if testing.Short() {
		step = 5
	}
	for _, once := range []bool{true, false} {
		for at, reached := int64(0), true; reached; at += step {
			fs := vfs.NewMem()
			reached = openFailing(t, fs, at, once, "15.0.0")
			reopenGood(t, fs, "15.0.0")
			reached = openFailing(t, fs, at, once, "16.0.0") || reached
			reopenGood(t, fs, "16.0.0")
		}
	}
}

// openFailing opens a store on a disk whose write number at fails, and reports whether there was such
// a write.
func openFailing(t *testing.T, disk vfs.FS, at int64, once bool, unicode string) bool {
	t.Helper()
	var ops atomic.Int64
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || isHarmless(op) {
			return nil
		}
		if n := ops.Add(1) - 1; n == at || n > at && !once {
			return syscall.EIO
		}
		return nil
	}))
	hang.Within(t, "Open or Close", func() {
		s, err := openPrepared("db", Options{FS: fs, BufferBytes: 1})
		if err == nil {
			err = errors.Join(s.Prepare(t.Context(), store.Terms{Identity: store.Identity{Unicode: unicode}}), s.Close())
		}
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("write %d, once %v: got %v; want EIO", at, once, err)
		}
	})
	return ops.Load() > at
}

func reopenGood(t *testing.T, fs vfs.FS, unicode string) {
	t.Helper()
	s := openFor(t, "db", store.Identity{Unicode: unicode}, Options{FS: fs, BufferBytes: 1})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
