package storebench

import (
	"io/fs"
	"path/filepath"
)

// DiskBytes is the size of the files under dir.
func DiskBytes(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that has gone meanwhile
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
