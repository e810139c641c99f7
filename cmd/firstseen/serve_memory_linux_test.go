package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestGarbageRoomTakesNoMemory: the room is not written to, also if the heap used memory before.
func TestGarbageRoomTakesNoMemory(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "")
	}
	used := make([]byte, 4<<20)
	for i := range used {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	runtime.GC() // the room may begin where it was
	before := residentMB(t)
	release := allowGarbage()
	after := residentMB(t)
	release()
	if got := after - before; got > garbageRoom>>21 {
		t.Errorf("got %d MB more resident memory for a room of %d MB; want none", got, garbageRoom>>20)
	}
}

func residentMB(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}
