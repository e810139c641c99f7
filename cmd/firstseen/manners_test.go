package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestSignalsEndABlockedInput: a command that waits for standard input ends by the first
// signal.
func TestSignalsEndABlockedInput(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "db")
	for i, args := range [][]string{
		{"canon"}, {"hash"}, {"explain"}, {"sxurl", "encode"}, {"uniq"}, {"replay", "-"}, {"audit", "-"}, {"import", "--db", db, "-"}, {"add", "--db", db + "2", "-"},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, args...)
			cmd.Env = append(os.Environ(), asCommand+"=1")
			feed, err := cmd.StdinPipe() // which stays open
			if err != nil {
				t.Fatal(err)
			}
			defer feed.Close()
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond) // for it to wait: an earlier signal ends it, too
			if err := cmd.Process.Signal([]os.Signal{os.Interrupt, syscall.SIGTERM}[i%2]); err != nil {
				t.Fatal(err)
			}
			hang.Within(t, "a command that waits for input", func() { _ = cmd.Wait() })
			if got := cmd.ProcessState.ExitCode(); got != statusFailed && got != -1 {
				t.Errorf("got status %d, %s; want %d", got, &out, statusFailed)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"audit", "canon", "copy", "export", "explain", "import", "replay", "serve", "stats", "uniq"}
	for word, want := range map[string]string{
		"unique": "uniq", "unqi": "uniq", "canno": "canon", "reply": "replay", "exp": "", "expl": "explain", "start": "stats", "delete": "", "": "", "x": "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("%q: got %q; want %q", word, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"512M": 512 << 20, "2GiB": 2 << 30, "3g": 3 << 30, "64kb": 64 << 10, "100": 100, "1T": 1 << 40} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", text, got, err, want)
		}
		if again, err := parseSize(sizeText(got)); err != nil || again != got {
			t.Errorf("%s is printed as %s, which reads %d, %v", text, sizeText(got), again, err)
		}
	}
	for _, text := range []string{"", "M", "-1M", "0", "1.5G", "99999999999T", "5x"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: got %d; want an error", text, got)
		}
	}
	if got := memTotal("MemFree: 1 kB\nMemTotal:   2048 kB\n", 7); got != 2<<20 {
		t.Errorf("got %d; want 2 MiB", got)
	}
	if machineMemory() < 64<<20 {
		t.Errorf("got %d bytes of memory", machineMemory())
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"http://a.example/": "http://a.example/", "a\x1b[31m\n": `a\x1b[31m\x0a`, "\u202eab": `\u202eab`, "\u0085": `\u0085`, "\xff\u00fc": "\\xff\u00fc",
	} {
		if got := visible(text); got != want {
			t.Errorf("%q: got %s; want %s", text, got, want)
		}
	}
}
