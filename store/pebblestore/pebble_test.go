package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPebbleFormatIsPinned checks that a new store has the format that this package names,
// whatever Pebble's newest is.
func TestPebbleFormatIsPinned(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	if got := s.db.FormatMajorVersion(); got != 24 {
		t.Errorf("got Pebble format %d; want 24", got)
	}
}

// TestPaceStopsBeforePebble checks that Pebble never stops writes for a full L0: the failure of the store would
// not end that.
func TestPaceStopsBeforePebble(t *testing.T) {
	if o := pebbleOptions("db", Options{FS: vfs.NewMem(), tuning: tuning{memTableBytes: 1 << 20}}, newHealth(), nil); o.L0StopWritesThreshold <= 1000*paceStop {
		t.Errorf("got a stop at %d sublevels; want none", o.L0StopWritesThreshold)
	}
}
