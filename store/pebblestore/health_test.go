package pebblestore

import (
	"errors"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestMissesInARow checks that the store fails after 20 background failures in a row, and that a table that
// could be written, or a compaction that was cancelled, is none.
func TestMissesInARow(t *testing.T) {
	h := newHealth()
	l := h.listener()
	flush := func(err error) { l.FlushEnd(pebble.FlushInfo{Err: err}) }
	compaction := func(err error) { l.CompactionEnd(pebble.CompactionInfo{Err: err}) }
	for _, wrote := range []func(error){flush, compaction} {
		for range maxMisses - 1 {
			flush(syscall.ENOSPC)
		}
		for range maxMisses {
			compaction(pebble.ErrCancelledCompaction)
		}
		wrote(nil)
	}
	for range maxMisses - 2 {
		compaction(syscall.ENOSPC)
	}
	flush(syscall.ENOSPC)
	if h.isDead() {
		t.Fatalf("got %v; want a store that goes on after %d failures in a row", h.err, maxMisses-1)
	}
	if compaction(syscall.ENOSPC); !h.isDead() {
		t.Errorf("the store goes on after %d failures in a row", maxMisses)
	}
}

// TestFlushOfNothing: flushes of which nothing is left to write are no failures, however many there are in a row.
func TestFlushOfNothing(t *testing.T) {
	h := newHealth()
	l := h.listener()
	db, err := pebble.Open("db", &pebble.Options{FS: vfs.NewMem(), EventListener: &pebble.EventListener{FlushEnd: l.FlushEnd}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 * maxMisses {
		if err := errors.Join(db.Set([]byte("k"), nil, pebble.NoSync), db.SingleDelete([]byte("k"), pebble.NoSync), db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if h.isDead() {
		t.Errorf("got a store that failed; want one that goes on")
	}
}
