package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestNotify starts the daemon as systemd starts a unit of Type=notify. When it reports that it is
// ready, its first call must be answered; when it drains, it reports that too.
func TestNotify(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	unit, err := os.ReadFile(filepath.Join("deploy", "firstseen.service"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(unit), "\nType=notify\n") {
		t.Error("the unit does not wait for the daemon; want Type=notify")
	}
	dir := t.TempDir()
	for kind, socket := range map[string]string{"path": filepath.Join(dir, "notify"), "abstract": "@" + filepath.Base(dir) + t.Name()} {
		t.Run(kind, func(t *testing.T) {
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			addrs, release, err := freeport.Take(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			log := &logTail{}
			cmd := exec.Command(self, "serve", "--db", filepath.Join(t.TempDir(), "db"), "--grpc", addrs[0], "--http", addrs[1], "--min-free", "-1")
			cmd.Env, cmd.Stderr = append(os.Environ(), asCommand+"=1", "NOTIFY_SOCKET="+socket), log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }() // it may have ended
			awaitState(t, manager, "READY=1", log)
			resp, err := http.Get("http://" + addrs[1] + "/readyz")
			if err != nil {
				t.Fatalf("got %v from a daemon that is ready", err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("got %s from a daemon that is ready", resp.Status)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			awaitState(t, manager, "STOPPING=1", log)
			if err := cmd.Wait(); err != nil {
				t.Errorf("got %v\n%s; want a drained end", err, log)
			}
		})
	}
}

// awaitState reads the next state that the daemon reports.
func awaitState(t *testing.T, manager *net.UnixConn, want string, log *logTail) {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(hang.Limit)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := manager.Read(buf)
	if err != nil || string(buf[:n]) != want {
		t.Fatalf("got %q, %v; want %q\n%s", buf[:n], err, want, log)
	}
}
