package main

import (
	"os"
	"runtime"
	"strings"
)

// garbageRoom is how much garbage the heap of serve may hold beyond the default of Go, which
// is as much as is live. Hundreds of thousands of messages a second come and go, and Go would
// scan a small heap as often.
const garbageRoom = 64 << 20

// allowGarbage makes that room, until the caller calls the function it returns: a block that
// counts as live, and takes no memory since nothing writes to it. A Builder does not clear it,
// unlike make, which clears all of it if the heap used a page of it before. allowGarbage does
// nothing if the operator set GOGC or GOMEMLIMIT.
func allowGarbage() func() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	room := new(strings.Builder)
	room.Grow(garbageRoom)
	return func() { runtime.KeepAlive(room) }
}
