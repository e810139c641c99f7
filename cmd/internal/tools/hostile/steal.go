//go:build linux

package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A virtual machine stops while its host runs others, which Linux counts as stolen time. Times
// measured then say nothing about the daemon. So the client leaves out calls that were due in
// a period with stolen time, or in the period before one. If nearly all periods have some, it keeps
// the quarter that has least: with and without an attack alike.

const (
	period = 250 * time.Millisecond
	// littleStolen is how much of two periods may be stolen from all processors together: Linux
	// counts in steps of 10 ms.
	littleStolen = 10 * time.Millisecond
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

// periods are how much of each period of a run was stolen.
type periods []time.Duration

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
		p = append(p, now-before)
		before = now
	}
}

// around returns what was stolen in a period and in the next.
func (p periods) around(i int) time.Duration {
	if i+1 < len(p) {
		return p[i] + p[i+1]
	}
	return p[i]
}

// kept returns a function that reports whether a call counts that was due at a time after the start.
func (p periods) kept() func(due time.Duration) bool {
	var all []time.Duration
	for i := range p {
		all = append(all, p.around(i))
	}
	slices.Sort(all)
	most := littleStolen
	if len(all) > 0 {
		most = max(most, all[(len(all)-1)/4])
	}
	return func(due time.Duration) bool {
		i := int(due / period)
		return i < len(p) && p.around(i) <= most
	}
}
