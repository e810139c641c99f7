package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty opens a terminal: bytes that are written to its second end are read from the first.
func pty(t *testing.T) (first, second *os.File) {
	t.Helper()
	first, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = first.Close() })
	n, err := unix.IoctlGetInt(int(first.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(first.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		second, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = second.Close() })
	return first, second
}

// TestProgressOnATerminal: import and audit show how far they are.
func TestProgressOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", "--db", filepath.Join(t.TempDir(), "db"), "-"}, {"audit", "-"}} {
		t.Run(args[0], func(t *testing.T) {
			first, second := pty(t)
			cmd := exec.CommandContext(t.Context(), self, args...)
			cmd.Env = append(os.Environ(), asCommand+"=1")
			feed, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = feed.Close()
				_ = cmd.Wait()
			}()
			if _, err := feed.Write([]byte(strings.Repeat("http://a.example/\n", 1000))); err != nil {
				t.Fatal(err)
			}
			shown := make(chan string, 1)
			go func() {
				var all strings.Builder
				buf := make([]byte, 1000)
				for !strings.Contains(all.String(), "KiB read") {
					n, err := first.Read(buf)
					if all.Write(buf[:n]); err != nil {
						break
					}
				}
				shown <- all.String()
			}()
			select {
			case got := <-shown:
				if !strings.Contains(got, "KiB read") {
					t.Errorf("got %q; want how much was read", got)
				}
			case <-time.After(time.Minute):
				t.Error("it shows no progress")
			}
		})
	}
}
