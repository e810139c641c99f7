package main

import (
	"os"
	"runtime"
)

// leastProcs is the least GOMAXPROCS of serve. A Go program whose goroutines keep all of its Ps
// busy looks for network traffic only every 10 ms. With one P, one busy client would delay each
// step of every other call by so long. With two, the second one waits for traffic, and the kernel
// runs it as soon as there is some.
const leastProcs = 2

// useProcs raises GOMAXPROCS to leastProcs on a machine with one processor, unless the operator
// has set it.
func useProcs() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < leastProcs {
		runtime.GOMAXPROCS(leastProcs)
	}
}
