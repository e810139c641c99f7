package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// The heap of serve may hold garbage of garbagePercent of what is live and garbageRoom together.
// Hundreds of thousands of messages a second come and go: with the default of Go, as much as is
// live, Go would scan a small heap as often. It would leave room for twice what clients are
// served with when these take no answers.
const (
	garbageRoom    = 160 << 20
	garbagePercent = 50
)

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
	percent := debug.SetGCPercent(garbagePercent)
	return func() {
		debug.SetGCPercent(percent)
		runtime.KeepAlive(room)
	}
}
