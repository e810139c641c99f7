//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package runfile

import "github.com/cockroachdb/pebble/v2/vfs"

func mapFile(f vfs.File) ([]byte, func(), error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	return readAll(f, info.Size())
}

const adviceWillNeed, adviceCold = 0, 0

func advise([]byte, int) {}
