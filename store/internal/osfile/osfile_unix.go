//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

// Package osfile has what Unix systems offer for files beyond the standard library: locks of directories, and maps of files and
// of memory. On other systems, memory is of the Go heap, files cannot be mapped, and directories are not locked.
package osfile

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/store"
)

const (
	Random   = unix.MADV_RANDOM   // single pages are read: not their neighbours
	willNeed = unix.MADV_WILLNEED // to be read soon
)

func mapFile(fd uintptr, size int64) ([]byte, error) {
	return unix.Mmap(int(fd), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

// MapMemory returns n zeroed bytes outside the Go heap.
func MapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n) // which panics if there is no memory at all
	}
	return b
}

// Unmap unmaps bytes. For those of the heap it does nothing.
func Unmap(b []byte) { _ = unix.Munmap(b) }

// Advise tells the system how the whole pages of b will be used. The system may ignore it.
func Advise(b []byte, advice int) {
	if len(b) == 0 || advice < 0 {
		return
	}
	page := uintptr(unix.Getpagesize())
	skip := (page - uintptr(unsafe.Pointer(&b[0]))%page) % page
	if uintptr(len(b)) > skip {
		_ = unix.Madvise(b[skip:], advice)
	}
}

// WillNeed asks the system for the pages of a mapped file that have bytes lo to hi.
func WillNeed(file []byte, lo, hi int64) {
	Advise(file[lo-lo%int64(unix.Getpagesize()):hi], willNeed)
}

func lock(fd uintptr) error {
	err := unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return store.ErrLocked
	case errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
		return errors.ErrUnsupported // as on NFS, which locks only files that are open for writing
	}
	return err
}

func unlock(fd uintptr) error { return unix.Flock(int(fd), unix.LOCK_UN) }
