//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

// Package mmap maps files and memory. On other systems, memory is of the Go heap, and files cannot be mapped.
package mmap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	Random   = unix.MADV_RANDOM   // single pages are read: not their neighbours
	willNeed = unix.MADV_WILLNEED // to be read soon
)

// File maps a file of so many bytes, at least one, for reading. They stay when the file is closed or removed.
func File(fd uintptr, size int64) ([]byte, error) {
	return unix.Mmap(int(fd), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

// Memory returns n zeroed bytes outside the Go heap.
func Memory(n int) []byte {
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
