package mmap

import "golang.org/x/sys/unix"

const (
	Cold Advice = unix.MADV_COLD     // not needed again
	Huge Advice = unix.MADV_HUGEPAGE // in huge pages, if the system has them
)
