//go:build unix

package server

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes is what the disk of a directory has left for us.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("cannot ask for the free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // the types differ from system to system
}
