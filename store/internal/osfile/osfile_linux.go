package osfile

import "golang.org/x/sys/unix"

const (
	Cold = unix.MADV_COLD     // not needed again
	Huge = unix.MADV_HUGEPAGE // in huge pages, if the system has them
)

// DiskReads returns how much the process has read from disks, also as pages of mapped files. It never grows
// where that is not known.
func DiskReads() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Inblock)
}
