package osfile

import (
	"errors"
	"io"
)

// noFd is the descriptor of a file that has none, as one in memory.
const noFd = ^uintptr(0)

// Contents returns the bytes of a file of a size, for Unmap. They are mapped, so that they stay when the file is closed or removed; a
// file that cannot be mapped is read into memory.
func Contents(f interface {
	io.ReaderAt
	Fd() uintptr
}, size int64) ([]byte, error) {
	if f.Fd() != noFd && size > 0 {
		if data, err := mapFile(f.Fd(), size); !errors.Is(err, errors.ErrUnsupported) {
			return data, err
		}
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}
