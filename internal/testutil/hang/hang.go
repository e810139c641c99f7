// Package hang is how tests wait for what must happen. A limit that fits an idle machine fails on a busy one, which
// tells nothing about the code. So nothing counts as hanging before Limit is over, and then all goroutines are shown.
package hang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Limit is for a machine that gives a test a tenth of a processor, and takes a second for each sync of its disk.
const Limit = 5 * time.Minute

// Within runs f on another goroutine, and fails the test unless it returns.
func Within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(Limit):
		t.Fatalf("%s hangs:\n%s", what, stacks())
	}
}

// Until asks again and again whether something is so, and fails the test unless it becomes so.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	pause, end := 100*time.Microsecond, time.Now().Add(Limit)
	for !is() {
		if time.Now().After(end) {
			t.Fatalf("not so: %s\n%s", what, stacks())
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond) // the machine has other things to do
	}
}

// Context returns a context for calls that must come to their end. It ends before the test does.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			fmt.Fprintf(os.Stderr, "%s hangs:\n%s", t.Name(), stacks())
		}
	})
	return ctx
}

func stacks() []byte {
	all := make([]byte, 1<<20)
	return all[:runtime.Stack(all, true)]
}
