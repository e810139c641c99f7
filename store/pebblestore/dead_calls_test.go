package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
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
	"github.com/firstseen/firstseen/store/storetest"
)

// publicCalls are all methods of a store but Close.
var publicCalls = map[string]func(ctx context.Context, s *Store, n int) error{
	"Add": func(ctx context.Context, s *Store, n int) error {
		items := make([]store.Item, 20)
		for i := range items {
			items[i] = store.Item{Key: testKey(1<<20 + n*10 + i), Queue: fmt.Sprint("q", i%3), URL: "http://a/"}
		}
		_, err := s.Add(ctx, "", items, store.AddOptions{WantFirst: true})
		return err
	},
	"Backup": func(ctx context.Context, s *Store, n int) error {
		_, err := s.Backup(ctx, fmt.Sprint("backup", n))
		return err
	},
	"Configure": func(ctx context.Context, s *Store, n int) error {
		delay := time.Duration(n) * time.Millisecond
		return s.Configure(ctx, "*", "", store.QueueChange{Delay: &delay})
	},
	"CrawlSettings": func(ctx context.Context, s *Store, _ int) error {
		_, err := s.CrawlSettings(ctx, "")
		return err
	},
	"Crawls":  func(ctx context.Context, s *Store, _ int) error { _, err := s.Crawls(ctx); return err },
	"Entries": func(ctx context.Context, s *Store, _ int) error { return firstError(s.Entries(ctx, "", "")) },
	"Export":  func(ctx context.Context, s *Store, _ int) error { _, err := s.Export(ctx, io.Discard, ""); return err },
	"Forget": func(ctx context.Context, s *Store, n int) error {
		sel := []store.Selection{{Queue: "q1"}, {Keys: testKeys(n*10, n*10+10)}, {Crawl: "gone"}, {Crawl: "old", Age: time.Hour}}
		_, err := s.Forget(ctx, sel[n%len(sel)])
		return err
	},
	"Identity": func(_ context.Context, s *Store, _ int) error { s.Identity(); return s.failure() },
	"Index":    func(_ context.Context, s *Store, _ int) error { s.Index(); return s.failure() },
	"Keys":     func(ctx context.Context, s *Store, _ int) error { return firstError(s.Keys(ctx, "")) },
	"Known": func(ctx context.Context, s *Store, n int) error {
		return s.Known(ctx, "", testKeys(n, n+5), make([]bool, 5))
	},
	"Lookup": func(ctx context.Context, s *Store, n int) error {
		_, err := storetest.Lookup(ctx, s, "", testKey(n%50))
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	},
	"Metrics": func(ctx context.Context, s *Store, _ int) error { _, err := s.Metrics(ctx); return err },
	"NameCrawls": func(ctx context.Context, s *Store, _ int) error {
		return s.NameCrawls(ctx, []string{"a"}, []string{""})
	},
	"Prepare": func(ctx context.Context, s *Store, _ int) error {
		return s.Prepare(ctx, store.Terms{Identity: testIdentity})
	},
	"QueueInfo": func(ctx context.Context, s *Store, _ int) error {
		_, err := s.QueueInfo(ctx, "", "q1")
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	},
	"Recount": func(ctx context.Context, s *Store, n int) error {
		return s.Recount(ctx, "old", []store.QueueInfo{{Name: "q1", Completed: int64(n)}})
	},
	"Queues": func(ctx context.Context, s *Store, _ int) error { return firstError(s.Queues(ctx, "*", "")) },
	"See": func(ctx context.Context, s *Store, n int) error {
		return s.See(ctx, "", testKeys(1<<21+n*100, 1<<21+n*100+100), make([]bool, 100), store.SeeOptions{})
	},
	"Settle": func(ctx context.Context, s *Store, n int) error {
		_, err := s.Settle(ctx, "", []store.Settlement{{Key: testKey(n), Token: uint64(n)}})
		return err
	},
	"Stats": func(ctx context.Context, s *Store, _ int) error { _, err := s.Stats(ctx, "*"); return err },
	"Take": func(ctx context.Context, s *Store, _ int) error {
		_, err := s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 10})
		return err
	},
	"Verify": func(ctx context.Context, s *Store, _ int) error { _, err := s.Verify(ctx); return err },
}

// death is a way in which a store fails.
type death struct {
	fault func(op errorfs.Op) bool // fails from the death on
	kill  func(s *Store)           // what it dies of, if it is no fault of the disk
}

// What is done to a log that was used again goes past errorfs, but for the reuse.
var deaths = map[string]death{
	"a log that cannot be written":      {fault: writes(".log", errorfs.OpFileWrite, errorfs.OpReuseForWrite)},
	"a log that cannot be synced":       {fault: writes(".log", errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpReuseForWrite)},
	"a manifest that cannot be written": {fault: writes("MANIFEST", errorfs.OpFileWrite)},
	"tables that cannot be written":     {fault: writes(".sst", errorfs.OpCreate, errorfs.OpFileWrite)},
	"a note that cannot be written":     {fault: writes(noteTemp, errorfs.OpCreate)},
	"a disk that cannot be written":     {fault: func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite && !isHarmless(op) }},
	"Pebble, which ends in the background": {kill: func(s *Store) {
		go pebbleLog{s.health}.Fatalf("no way on: %w", syscall.EIO)
	}},
	"Pebble, which ends in a step": {kill: func(s *Store) {
		go func() {
			_ = s.do(context.Background(), 1, func(*txn) error {
				pebbleLog{s.health}.Fatalf("no way on: %w", syscall.EIO)
				return nil
			})
		}()
	}},
	"Pebble, which ends in a write": {kill: func(s *Store) {
		s.between.Lock()
		go pebbleLog{s.health}.Fatalf("no way on: %w", syscall.EIO)
	}},
}

// writes are operations on files with a name.
func writes(name string, kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		for _, k := range kinds {
			if op.Kind == k && strings.Contains(op.Path, name) {
				return true
			}
		}
		return false
	}
}

// TestDeadStoreAnswersAndRests calls every method of a store, again and again and without the end of a context, while the store fails, and
// afterwards. Each call must return ErrFailed, and so must Close; and when they have, nothing goes on working with the disk.
func TestDeadStoreAnswersAndRests(t *testing.T) {
	for i, typ := 0, reflect.TypeFor[*Store](); i < typ.NumMethod(); i++ {
		if name := typ.Method(i).Name; publicCalls[name] == nil && name != "Close" {
			t.Errorf("no call of %s", name)
		}
	}
	for name, d := range deaths {
		t.Run(name, func(t *testing.T) { d.try(t) })
	}
}

func (d *death) try(t *testing.T) {
	var dying atomic.Bool
	var ops atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		ops.Add(1)
		if dying.Load() && d.fault != nil && strings.HasPrefix(op.Path, "db/") && d.fault(op) {
			return syscall.EIO
		}
		return nil
	}))
	opt := tiny(fs)
	opt.flushKeys, opt.KeepURLs, opt.backlog = 500, true, 4
	s := mustOpen(t, "db", opt)
	for i := range 4 {
		see(t, s, "", testKeys(i*500, i*500+500))
		see(t, s, "old", testKeys(i*50, i*50+50))
	}
	for i := range 10 {
		if err := publicCalls["Add"](t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	var calls sync.WaitGroup
	var begun atomic.Int64
	for name, call := range publicCalls {
		calls.Go(func() {
			begun.Add(1)
			for n := 0; ; n++ {
				err := call(ctx, s, n)
				if err == nil {
					err = publicCalls["CrawlSettings"](ctx, s, n) // the committer comes in between
				}
				if errors.Is(err, store.ErrFailed) && errors.Is(err, syscall.EIO) {
					return
				} else if err != nil {
					t.Errorf("%s during the death: got %v; want ErrFailed, and EIO", name, err)
					return
				}
			}
		})
	}
	hang.Until(t, "that all calls have begun", func() bool {
		return begun.Load() == int64(len(publicCalls)) && s.accepted.Load() >= 100
	})
	dying.Store(true)
	if d.kill != nil {
		d.kill(s)
	}
	hang.Within(t, "the death", func() { <-s.dead })
	hang.Within(t, "a call during the death", calls.Wait)
	for name, call := range publicCalls {
		hang.Within(t, name, func() {
			if err := call(ctx, s, 0); !errors.Is(err, store.ErrFailed) {
				t.Errorf("%s of a dead store: got %v; want ErrFailed", name, err)
			}
		})
	}
	rests := func(when string) {
		quiet, last := 0, int64(-1)
		hang.Until(t, "that the disk is left alone "+when, func() bool {
			if n := ops.Load(); n != last {
				quiet, last = 0, n
			}
			quiet++
			return quiet > 10 // over a tenth of a second
		})
	}
	rests("of a dead store")
	hang.Within(t, "Close", func() {
		if err := s.Close(); !errors.Is(err, store.ErrFailed) {
			t.Errorf("Close: got %v; want ErrFailed", err)
		}
	})
	rests("after Close")
}
