package main

import (
	"os"
	"runtime"
)

// garbageRoom is what the heap of serve may hold of garbage beyond what Go
// allows by itself, as much as is live: messages come and go by the hundred
// thousand a second, and a small live heap would be scanned as often.
const garbageRoom = 64 << 20

// allowGarbage makes that room, until the function it returns is called: a
// block of memory that counts as live and, never written to, takes none. It does
// nothing where the operator has settled the matter with GOGC or GOMEMLIMIT.
func allowGarbage() func() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	room := make([]byte, garbageRoom)
	return func() { runtime.KeepAlive(room) }
}
