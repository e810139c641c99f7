package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
)

// backUp makes a backup.
func backUp(t testing.TB, s *Store, dir string, earlier ...string) BackupSize {
	t.Helper()
	size, err := s.Backup(context.Background(), dir, earlier...)
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// prefix is a writer that sees keys of its own in order, one a step.
type prefix struct {
	from  int
	acked atomic.Int64
}

func (p *prefix) write(s *Store, stop <-chan struct{}) error {
	fresh := make([]bool, 1)
	for i := p.from; i < p.from+50_000; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := s.See(context.Background(), "", []store.Key{testKey(i)}, fresh, store.SeeOptions{}); err != nil {
			return err
		}
		p.acked.Add(1)
	}
	return nil
}

// TestBackupIsOneMoment backs a store up, several times, while writers add keys in order
// and runs are flushed, merged and forgotten: each backup is sound, and has of each writer
// the keys up to one, among them all that were acknowledged before.
func TestBackupIsOneMoment(t *testing.T) {
	opt := killOptions(0)
	opt.flushKeys = 200
	s := mustOpen(t, t.TempDir(), opt)
	defer s.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	writers := make([]*prefix, 4)
	for i := range writers {
		writers[i] = &prefix{from: i * 10_000_000}
		wg.Go(func() {
			if err := writers[i].write(s, stop); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() { // files come and go
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			see(t, s, "gone", testKeys(i*300-1_000_000, i*300-1_000_000+300))
			forget(t, s, store.Selection{Crawl: "gone"})
		}
	})
	dir := t.TempDir()
	for round := range tortureCount(t, 4, 200) {
		var before []int64
		for _, w := range writers {
			before = append(before, w.acked.Load())
		}
		to := filepath.Join(dir, fmt.Sprint(round))
		backUp(t, s, to)
		copied := mustOpen(t, to, opt)
		wantSound(t, copied)
		keys := keysOf(t, copied)
		for i, w := range writers {
			wantPrefix(t, keys, w.from, before[i], w.acked.Load()+1)
		}
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	wantSound(t, s)
}

// keysOf returns all keys of a crawl.
func keysOf(t *testing.T, s *Store) map[store.Key]bool {
	t.Helper()
	all := map[store.Key]bool{}
	for k, err := range s.Keys(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all[k] = true
	}
	return all
}

// wantPrefix asserts that there are the keys from one on without a gap, at least least of
// them and at most most.
func wantPrefix(t *testing.T, keys map[store.Key]bool, from int, least, most int64) {
	t.Helper()
	n := int64(0)
	for keys[testKey(from+int(n))] {
		n++
	}
	if n < least || n > most {
		t.Errorf("the backup has %d keys of a writer in order; want %d to %d", n, least, most)
	}
	for i := n; i < most; i++ {
		if keys[testKey(from+int(i))] {
			t.Errorf("the backup has key %d of a writer and lacks %d", i, n)
		}
	}
}

// TestBackupKeepsQueues asserts that a backup has queue, lease and settings.
func TestBackupKeepsQueues(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{KeepURLs: true})
	defer s.Close()
	addQueued(t, s, "a.example", 0, 10)
	takeSome(t, s, 1)
	want, err := s.Stats(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "b")
	backUp(t, s, to)
	copied := mustOpen(t, to, Options{KeepURLs: true})
	defer copied.Close()
	wantStats(t, copied, want)
	wantSound(t, copied)
}

// TestBackupShares asserts that run files are linked: to the store, or on another file
// system to an earlier backup.
func TestBackupShares(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("other=%v", other), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var links atomic.Int64
			opt := Options{FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind != errorfs.OpLink {
					return nil
				}
				if other && strings.HasPrefix(op.Path, "db") {
					return errors.New("cross-device link")
				}
				links.Add(1)
				return nil
			}))}
			opt.flushKeys = 100
			s := mustOpen(t, "db", opt)
			defer s.Close()
			for i := range 3 {
				see(t, s, fmt.Sprint(i), testKeys(100*i, 100*i+100))
				flushRuns(t, s)
			}
			root, err := mem.OpenDir("/")
			if err = errors.Join(err, mem.MkdirAll("b", 0o755), root.Sync()); err != nil {
				t.Fatal(err)
			}
			first := backUp(t, s, "b/1")
			see(t, s, "new", testKeys(1000, 1010))
			links.Store(0)
			second := backUp(t, s, "b/2", "b/1")
			if links.Load() < int64(len(runFiles(t, s))) {
				t.Errorf("got %d links; want one for each of %d run files", links.Load(), len(runFiles(t, s)))
			}
			if first.Keys != 300 || second.Keys != 310 {
				t.Errorf("got %d and %d keys; want 300 and 310", first.Keys, second.Keys)
			}
			if other && (first.Copied != first.Bytes || second.Copied >= second.Bytes) || first.Copied > first.Bytes || first.Copied <= 0 {
				t.Errorf("got %+v, then %+v; want the first copied whole only on another file system, the second in part", first, second)
			}
			clone := Options{Mode: OpenExisting}
			clone.FS = mem.CrashClone(vfs.CrashCloneCfg{}) // a backup is durable
			copied := mustOpen(t, "b/2", clone)
			defer copied.Close()
			wantSeen(t, copied, "new", 10)
			wantSound(t, copied)
		})
	}
}

// TestBackupHoldsFiles checks that no run file is removed while a backup may copy it.
func TestBackupHoldsFiles(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{flushKeys: 100}})
	defer s.Close()
	see(t, s, "", testKeys(0, 200))
	flushRuns(t, s)
	release := s.holdFiles()
	files := runFiles(t, s)
	forget(t, s, store.Selection{})
	s.keeper.releasing.Wait()
	if left := runFiles(t, s); !slices.Equal(left, files) {
		t.Errorf("got the files %v; want %v, which are held", left, files)
	}
	if release(); len(runFiles(t, s)) > 0 {
		t.Errorf("got the files %v; want none", runFiles(t, s))
	}
}

// TestBackupFails fails each operation of a backup on its own files in turn: Backup returns
// the error and leaves no directory, and the store still works.
func TestBackupFails(t *testing.T) {
	var at, n atomic.Int64
	mem := vfs.NewMem()
	errDisk := errors.New("no space on the other disk")
	opt := Options{FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if at.Load() == 0 || !strings.HasPrefix(op.Path, "b") || op.Kind == errorfs.OpRemoveAll || isHarmless(op) || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		if n.Add(1) == at.Load() {
			return errDisk
		}
		return nil
	}))}
	opt.flushKeys = 100
	s := mustOpen(t, "db", opt)
	defer s.Close()
	see(t, s, "", testKeys(0, 500))
	flushRuns(t, s)
	failed := 0
	for step := int64(1); ; step++ {
		n.Store(0)
		at.Store(step)
		_, err := s.Backup(context.Background(), "b")
		at.Store(0)
		if n.Load() < step {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if err != nil {
			failed++
			if _, err := mem.Stat("b"); err == nil {
				t.Errorf("step %d: a part of the backup is left", step)
			}
		}
		if err := mem.RemoveAll("b"); err != nil {
			t.Fatal(err)
		}
		see(t, s, "", testKeys(int(500+step), int(501+step)))
	}
	if failed < 10 {
		t.Errorf("%d operations failed a backup; want many", failed)
	}
	wantSound(t, s)
}

// TestBackupRefused asserts when there is no backup.
func TestBackupRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	to := filepath.Join(t.TempDir(), "b")
	if _, err := s.Backup(ctx, to); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want context.Canceled", err)
	}
	if _, err := s.Backup(context.Background(), dir); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v for a directory that exists; want ErrInvalid", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(context.Background(), to); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v; want ErrClosed", err)
	}
	s = mustOpen(t, dir, Options{Mode: OpenReadOnly})
	defer s.Close()
	if _, err := s.Backup(context.Background(), to); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v from a store open for reading; want ErrInvalid", err)
	}
}
