//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package seenindex

import "golang.org/x/sys/unix"

// mapMemory returns n zeroed bytes outside the Go heap.
func mapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n) // which panics if there is no memory at all
	}
	adviseHuge(b)
	return b
}

// unmapMemory unmaps b. For bytes of the heap it does nothing.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }
