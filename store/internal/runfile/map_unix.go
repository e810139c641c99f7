//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package runfile

import (
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// mapFile returns the bytes of f, and a function that unmaps them. They stay when f is
// closed or removed.
func mapFile(f vfs.File) ([]byte, func(), error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	size := info.Size()
	if f.Fd() == vfs.InvalidFd || size == 0 {
		return readAll(f, size)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	// Look-ups read single pages: reading their neighbours costs time and evicts
	// pages that are used.
	_ = unix.Madvise(data, unix.MADV_RANDOM)
	return data, func() { _ = unix.Munmap(data) }, nil
}

const adviceWillNeed = unix.MADV_WILLNEED

// advise advises the system about the whole pages of b. It may ignore it.
func advise(b []byte, advice int) {
	if len(b) == 0 || advice < 0 {
		return
	}
	page := uintptr(unix.Getpagesize())
	skip := (page - uintptr(unsafe.Pointer(&b[0]))%page) % page
	if uintptr(len(b)) > skip {
		_ = unix.Madvise(b[skip:], advice)
	}
}
