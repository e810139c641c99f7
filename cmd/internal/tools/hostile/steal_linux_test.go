package main

import (
	"testing"
	"time"
)

// TestKept: calls count that were due while nothing was stolen, or in the best quarter of the time.
func TestKept(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		stolen periods
		want   string
	}{
		"idle host":  {periods{0, 0, 0, 0, 0, 0}, "yyyyyy"},
		"a moment":   {periods{0, 0, 0, 0, 0, 80 * ms, 0, 0}, "yyyynnyy"},
		"one tick":   {periods{0, 10 * ms, 0, 0}, "yyyy"},
		"always":     {periods{50 * ms, 60 * ms, 20 * ms, 20 * ms, 70 * ms, 50 * ms, 90 * ms, 50 * ms}, "nnynnnny"},
		"no periods": {nil, "n"},
	} {
		counts, got := c.stolen.kept(), ""
		for i := range max(len(c.stolen), 1) {
			got += map[bool]string{true: "y", false: "n"}[counts(time.Duration(i)*period+ms)]
		}
		if got != c.want {
			t.Errorf("%s: got %s; want %s", name, got, c.want)
		}
	}
}
