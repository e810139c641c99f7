package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestFlushLeavesWholeSteps cuts the power in the middle of a group, after a
// flush: the steps before it are there with all their rows.
func TestFlushLeavesWholeSteps(t *testing.T) {
	fs, ctx := vfs.NewCrashableMem(), t.Context()
	s, err := openPrepared("db", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := newAddOp(store.DefaultCrawl, []store.Item{{Key: testKey(1), Queue: "a", URL: "u"}}, testKeys(1, 2), store.AddOptions{}, nil)
	add.order = oneKey
	var left *vfs.MemFS
	err = s.read(ctx, func(tx *txn) error {
		if err := add.apply(tx); err != nil {
			return err
		}
		tx.flush()
		if err := s.db.LogData(nil, pebble.Sync); err != nil {
			return err
		}
		left = fs.CrashClone(vfs.CrashCloneCfg{})
		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	after, err := openPrepared("db", Options{FS: left})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	want := store.Stats{Seen: 1, Held: 1, Queues: 1, Active: 1}
	if got, err := after.Stats(ctx, ""); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got, err := after.Take(ctx, store.TakeRequest{}); err != nil || len(got.Leases) != 1 {
		t.Errorf("got %+v, %v; want the URL", got, err)
	}
}

// TestFlushedGroupIsDurable: a group that wrote all it had before its end is synced as others are.
func TestFlushedGroupIsDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, "db", Options{FS: fs})
	defer s.Close()
	err := s.do(t.Context(), 1, func(tx *txn) error {
		_, err := tx.recordSorted(tx.crawl(store.DefaultCrawl, true), testKeys(1, 2), oneKey, make([]bool, 1))
		tx.flush()
		return err
	})

	if err != nil {
		t.Fatal(err)
	}
	after := mustOpen(t, "db", Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	defer after.Close()
	wantSeen(t, after, "", 1)
}
