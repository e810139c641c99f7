package pebblestore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// room returns the bytes that a directory takes on the disk, and those of its files.
func room(t *testing.T, dir string) (disk, files int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && !e.IsDir() {
			disk += info.Sys().(*syscall.Stat_t).Blocks * 512
			files += info.Size()
		}
		if errors.Is(err, fs.ErrNotExist) { // a log that went meanwhile
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return disk, files
}

// TestRoomGrows: a store takes little more room than it has written, from the first key on.
func TestRoomGrows(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	for n := range 6 {
		keys := 1
		if n > 0 {
			keys = 2000 << n
		}
		see(t, s, "", testKeys(n<<20, n<<20+keys))
		if disk, files := room(t, dir); disk > 2*files+(1<<20) {
			t.Errorf("after %d calls: got %d B on the disk; want at most twice the %d B of its files, and 1 MiB", n+1, disk, files)
		}
	}
	s = reopen(t, s, dir, Options{})
	if disk, files := room(t, dir); disk > 2*files+(1<<20) {
		t.Errorf("opened again: got %d B on the disk for files of %d B", disk, files)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
