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
