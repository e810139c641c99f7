package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/freeport"
)

// TestHangupWhileOpening sends the signal to a daemon that still reads its rule file, a pipe. The
// signal must not end it, and the daemon must reload its files once it serves.
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
	d := &daemon{t: t, grpc: addrs[0], http: addrs[1], log: &logTail{}, ended: make(chan struct{})}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(self, "serve", "--db", filepath.Join(dir, "db"), "--grpc", d.grpc, "--http", d.http, "--min-free", "-1", "--rule-file", rules)
	d.cmd.Env, d.cmd.Stderr = append(os.Environ(), asCommand+"=1"), d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		<-d.ended                // until then it writes where the test removes
	})
	pipe := d.awaitReader(rules)
	err = errors.Join(d.cmd.Process.Signal(syscall.SIGHUP), os.Rename(none, rules)) // none: for the second time
	_, wrote := pipe.WriteString("{}")
	if err := errors.Join(err, wrote, pipe.Close()); err != nil {
		t.Fatal(err)
	}
	d.awaitLog("reloaded")
	if status := d.end(syscall.SIGTERM); status != 0 {
		t.Errorf("got status %d\n%s; want a drained end", status, d.log)
	}
}

// awaitReader opens a named pipe for writing once the process reads it.
func (d *daemon) awaitReader(name string) *os.File {
	d.t.Helper()
	for {
		pipe, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			return pipe
		}
		if !errors.Is(err, syscall.ENXIO) { // it has no reader yet
			d.t.Fatal(err)
		}
		select {
		case <-d.ended:
			d.t.Fatalf("it ended before it read %s:\n%s", name, d.log)
		case <-time.After(time.Millisecond):
		}
	}
}
