//go:build soak

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
)

// storeClock is wrong by what the file FIRSTSEEN_SOAK_CLOCK says, in ns, looked at ten times
// a second: so a soak steps the clock.
func storeClock() store.Clock {
	name := os.Getenv("FIRSTSEEN_SOAK_CLOCK")
	if name == "" {
		return nil
	}
	var wrong atomic.Int64
	read := func() {
		text, err := os.ReadFile(name)
		if err != nil {
			return
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			wrong.Store(n)
		}
	}
	read()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			read()
		}
	}()
	return func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) }
}
