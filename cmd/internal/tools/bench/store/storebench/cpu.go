//go:build linux

package storebench

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU is the processor time of this process so far.
func ProcessCPU() time.Duration { return usage(unix.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// RSS is the memory of this process now, in bytes, and what of it are pages of
// files, which the system takes back when it needs them.
func RSS() (resident, files int64) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0
	}
	var size int64
	if _, err := fmt.Sscan(string(text), &size, &resident, &files); err != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	return resident * page, files * page
}

// MaxRSS is the largest memory of this process so far, in bytes.
func MaxRSS() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss << 10
}
