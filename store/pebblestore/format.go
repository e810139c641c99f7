package pebblestore

import (
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// foreignFormat reports whether the database in dir is in a version of Pebble's own format that this
// program can't read, newer or too old. Pebble's error for one has nothing but a text to know it by.
func foreignFormat(dir string, fs vfs.FS) bool {
	text, err := atomicfs.ReadMarker(fs, dir, "format-version")
	version, bad := strconv.ParseUint(text, 10, 64)
	return err == nil && bad == nil && (version > uint64(pebble.FormatNewest) || version < uint64(pebble.FormatMinSupported))
}
