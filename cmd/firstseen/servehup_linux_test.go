package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/freeport"
)

// TestHangupWhileOpening sends the signal to a daemon that still reads its rule file, a pipe: it
// isn't ended by it, and renews what it can once it serves.
func TestHangupWhileOpening(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	rules, none := filepath.Join(dir, "rules.json"), filepath.Join(dir, "none.json")
	if err := errors.Join(syscall.Mkfifo(rules, 0o600), os.WriteFile(none, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	addrs, release, err := freeport.Take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	d := &daemon{t: t, grpc: addrs[0], http: addrs[1], log: &logTail{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(self, "serve", "--db", filepath.Join(dir, "db"), "--grpc", d.grpc, "--http", d.http, "--min-free", "-1", "--rule-file", rules)
	d.cmd.Env, d.cmd.Stderr = append(os.Environ(), asCommand+"=1"), d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })  // it may have ended
	pipe, err := os.OpenFile(rules, os.O_WRONLY, 0) // waits until the daemon reads it
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(d.cmd.Process.Signal(syscall.SIGHUP), os.Rename(none, rules)) // none: for the second time
	_, wrote := pipe.WriteString("{}")
	if err := errors.Join(err, wrote, pipe.Close()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.cmd.Wait() }()
	for !strings.Contains(d.log.String(), "reloaded") {
		select {
		case err := <-ended:
			t.Fatalf("got %v\n%s; want a daemon that goes on", err, d.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("got %v\n%s; want a drained end", err, d.log)
	}
}
