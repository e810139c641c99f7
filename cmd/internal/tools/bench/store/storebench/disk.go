package storebench

import (
	"io/fs"
	"path/filepath"
	"time"
)

// Settle waits until an engine has compacted nothing for a second.
func Settle(compacts func() (bool, error)) error {
	for quiet := 0; quiet < 20; quiet++ {
		busy, err := compacts()
		if err != nil {
			return err
		}
		if busy {
			quiet = 0
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// DiskBytes is the size of the files under dir.
func DiskBytes(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // the file was removed in the meantime
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
