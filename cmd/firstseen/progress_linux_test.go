package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/internal/testutil/hang"
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
			hang.Within(t, "progress", func() {
				if got := <-shown; !strings.Contains(got, "KiB read") {
					t.Errorf("got %q; want how much was read", got)
				}
			})
		})
	}
}

// TestFileIntoStandardOutput checks that output to /dev/stdout and /dev/stderr is appended to
// their files, and that later output follows it.
func TestFileIntoStandardOutput(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string]int{"appended": os.O_APPEND, "at its offset": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, std := range []string{"stdout", "stderr"} {
				file, err := os.OpenFile(filepath.Join(dir, std), os.O_CREATE|os.O_WRONLY|flags, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				cmd := exec.CommandContext(t.Context(), self, "replay", "--report", "/dev/"+std, "-")
				cmd.Env, cmd.Stdin = append(os.Environ(), asCommand+"=1"), strings.NewReader("http://a.example/\n")
				if cmd.Stdout = file; std == "stderr" {
					cmd.Stdout, cmd.Stderr = nil, file
				}
				_, before := file.WriteString("before\n")
				ran := cmd.Run()
				_, after := file.WriteString("after\n")
				text, err := os.ReadFile(file.Name())
				if err := errors.Join(before, ran, after, err); err != nil {
					t.Fatal(err)
				}
				got := string(text)
				if !strings.HasPrefix(got, "before\n") || !strings.Contains(got, ">a.example</th>") || !strings.HasSuffix(got, "\nafter\n") {
					t.Errorf("%s: got %q; want the report between what was there before and after", std, got)
				}
			}
			if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
				t.Errorf("got %v, %v; want two files alone", all, err)
			}
		})
	}
}
