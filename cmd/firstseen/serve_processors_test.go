package main

import (
	"runtime"
	"testing"
)

// TestServeProcessors checks that serve has two Ps on one processor, and what the operator set
// otherwise.
func TestServeProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, c := range []struct {
		set       string
		has, want int
	}{{"", 1, 2}, {"", 3, 3}, {"1", 1, 1}} {
		t.Setenv("GOMAXPROCS", c.set)
		runtime.GOMAXPROCS(c.has)
		useProcs()
		if got := runtime.GOMAXPROCS(0); got != c.want {
			t.Errorf("with %d and GOMAXPROCS=%q: got %d; want %d", c.has, c.set, got, c.want)
		}
	}
}
