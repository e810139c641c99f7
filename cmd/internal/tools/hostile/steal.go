//go:build linux

package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

// A virtual machine stops while its host runs others, which Linux counts as stolen time. Times
// measured then say nothing about the daemon. So the client leaves out calls that were due in
// a period with stolen time, or in the period before one.

const (
	period = 250 * time.Millisecond
	// maxStolen is how much of a period may be stolen from all processors together: Linux
	// counts in steps of 10 ms.
	maxStolen = 10 * time.Millisecond
)

// stolen returns the time that was stolen from all processors since the machine started, 0 on
// one that is not virtual.
func stolen() time.Duration {
	text, _ := os.ReadFile("/proc/stat") // without it nothing is left out
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks, _ := strconv.Atoi(fields[8])
	return time.Duration(ticks) * 10 * time.Millisecond
}

// periods has whether each period of a run was clean.
type periods []bool

// watch watches stolen time until the context ends.
func watch(ctx context.Context) (p periods) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for before := stolen(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return p
		}
		now := stolen()
		p = append(p, now-before <= maxStolen)
		before = now
	}
}

// clean reports whether a call counts that was due at a time after the start.
func (p periods) clean(due time.Duration) bool {
	i := int(due / period)
	return i < len(p) && p[i] && (i+1 >= len(p) || p[i+1])
}
