package pebblestore

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// foreignFormat reports whether the database in dir is in a version of Pebble's
// own format that this program can't read, newer or too old. Pebble keeps it in
// the name of an empty file, marker.format-version.ITERATION.VERSION, of which
// the last iteration counts; its error for such a version has nothing but a text
// to know it by.
func foreignFormat(dir string, fs vfs.FS) bool {
	names, err := fs.List(dir)
	if err != nil {
		return false
	}
	last, version := uint64(0), uint64(0)
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, "marker.format-version.")
		if !ok {
			continue
		}
		iteration, value, _ := strings.Cut(rest, ".")
		i, err1 := strconv.ParseUint(iteration, 10, 64)
		v, err2 := strconv.ParseUint(value, 10, 64)
		if err1 == nil && err2 == nil && i >= last {
			last, version = i, v
		}
	}
	return version > uint64(pebble.FormatNewest) || version != 0 && version < uint64(pebble.FormatMinSupported)
}
