package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// unknownMemory is the assumed memory of a machine that does not report it.
const unknownMemory = 4 << 30

// machineMemory returns the bytes of memory of the machine, or of the control group that the
// process is in, if it has less.
func machineMemory() int64 {
	total := int64(unknownMemory)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		total = memTotal(string(text), total)
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return total
}

// memTotal reads MemTotal of /proc/meminfo.
func memTotal(text string, otherwise int64) int64 {
	for line := range strings.Lines(text) {
		var kib int64
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil && kib > 0 {
			return kib << 10
		}
	}
	return otherwise
}
