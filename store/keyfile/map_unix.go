//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package keyfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile returns the bytes of f, which stay when f is closed, and what unmaps them.
func mapFile(f *os.File) ([]byte, func(), error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, func() {}, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return data, func() { _ = unix.Munmap(data) }, nil
}
