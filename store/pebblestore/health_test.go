package pebblestore

import (
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
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
