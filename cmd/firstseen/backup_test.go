package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/firstseen/firstseen/internal/wire"
)

// runWhole runs a command of the program.
func runWhole(t testing.TB, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

// mustRun runs a command that must succeed, and returns its output.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	status, out, errOut := runWhole(t, args...)
	if status != statusOK {
		t.Fatalf("%q: got status %d, %s%s", args, status, out, errOut)
	}
	return out
}

// TestBackupUnderLoad backs up a daemon that is written to, restores, and offers the URLs
// acknowledged before to the restored store: all of them are known. The backup verifies.
func TestBackupUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	dir := t.TempDir()
	backups := filepath.Join(dir, "backups")
	d := startDaemon(t, filepath.Join(dir, "db"), "--backup-dir", backups, "--delay", "0")
	w := &writer{acked: map[string]bool{}}
	started, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		d.write(w, "load", started)
	}()
	select {
	case <-started:
	case <-done:
		t.Fatalf("the writer ended: %v\n%s", w.err, d.log)
	}
	before := []string{"http://before.example/1", "http://before.example/2"}
	if got := verdicts(t, d.http, before); got != "new new" {
		t.Fatalf("got %s; want both new", got)
	}
	for i := range 3 {
		var info wire.Backup
		if err := json.Unmarshal([]byte(mustRun(t, "backup", "--daemon", d.http, "--json", "--keep", "2", fmt.Sprint("b", i))), &info); err != nil || info.Keys < 502 {
			t.Fatalf("got %+v, %v; want the 502 keys that were acknowledged", info, err)
		}
	}
	if got := mustRun(t, "backup", "--daemon", d.http, "--list"); !strings.HasPrefix(got, "b1 ") || strings.Count(got, "\n") != 2 {
		t.Errorf("got %s; want b1 and b2", got)
	}
	d.end(syscall.SIGKILL)
	<-done
	mustRun(t, "verify", "--db", filepath.Join(backups, "b2"))
	restored := filepath.Join(dir, "restored")
	mustRun(t, "restore", "--db", restored, filepath.Join(backups, "b1"))
	r := startDaemon(t, restored, "--delay", "0")
	if got := verdicts(t, r.http, before); got != "duplicate duplicate" {
		t.Errorf("got %s; want both known", got)
	}
	if got := r.end(syscall.SIGTERM); got != 0 {
		t.Errorf("got exit status %d; want 0\n%s", got, r.log)
	}
	mustRun(t, "verify", "--db", restored)
}

// TestBackupKilled kills the daemon while it backs up: the next one lists no part of a backup,
// and makes one of the same name.
func TestBackupKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	dir := t.TempDir()
	backups, db := filepath.Join(dir, "backups"), filepath.Join(dir, "db")
	d := startDaemon(t, db, "--backup-dir", backups)
	verdicts(t, d.http, []string{"http://a.example/"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	asking := exec.CommandContext(t.Context(), self, "backup", "--daemon", d.http, "half")
	asking.Env = append(os.Environ(), asCommand+"=1")
	if err := asking.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until a part of it is there; or the test times out
		if left, err := filepath.Glob(filepath.Join(backups, "half*")); err != nil || len(left) > 0 {
			break
		}
	}
	d.end(syscall.SIGKILL)
	_ = asking.Wait() // it may have been complete
	complete := 0
	if _, err := os.Stat(filepath.Join(backups, "half")); err == nil {
		complete = 1
		mustRun(t, "verify", "--db", filepath.Join(backups, "half"))
	}
	d = startDaemon(t, db, "--backup-dir", backups)
	if got := mustRun(t, "backup", "--daemon", d.http, "--list"); strings.Count(got, "\n") != complete {
		t.Errorf("got %s; want %d backups", got, complete)
	}
	if left, err := filepath.Glob(filepath.Join(backups, "*.partial")); err != nil || len(left) > 0 {
		t.Errorf("got %q, %v; want no part of a backup", left, err)
	}
	mustRun(t, "backup", "--daemon", d.http, "another")
	d.end(syscall.SIGTERM)
}

// TestBackupNeedsAdmin asserts that a token of a lower scope makes no backup.
func TestBackupNeedsAdmin(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	tokens := file("tokens", "write write-0123456789abcdef\nadmin admin-0123456789abcdef\n")
	d := startDaemon(t, filepath.Join(dir, "db"), "--tokens", tokens, "--backup-dir", filepath.Join(dir, "backups"))
	for _, c := range []struct {
		token  string
		status int
		want   string
	}{
		{"write-0123456789abcdef\n", statusFailed, "admin"},
		{"", statusFailed, "give --token-file"},
		{"admin-0123456789abcdef\n", statusOK, "keys"},
	} {
		status, out, errOut := runWhole(t, "backup", "--daemon", d.http, "--token-file", file("token", c.token))
		if status != c.status || !strings.Contains(out+errOut, c.want) {
			t.Errorf("token %q: got status %d, %s%s; want %d and %q", c.token, status, out, errOut, c.status, c.want)
		}
	}
	d.end(syscall.SIGTERM)
}

// TestBackupOnDisk backs up a store that no daemon has.
func TestBackupOnDisk(t *testing.T) {
	dir := t.TempDir()
	db, backups := filepath.Join(dir, "db"), filepath.Join(dir, "backups")
	list := filepath.Join(dir, "urls")
	if err := os.WriteFile(list, []byte("http://a.example/\nhttp://b.example/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "import", "--db", db, list)
	if got := mustRun(t, "backup", "--db", db, "--to", backups, "one"); !strings.Contains(got, "  2 keys  ") {
		t.Errorf("got %s; want 2 keys", got)
	}
	mustRun(t, "restore", "--db", filepath.Join(dir, "new"), filepath.Join(backups, "one"))
	if got := mustRun(t, "stats", "--db", filepath.Join(dir, "new")); !strings.Contains(got, "2  seen") {
		t.Errorf("got %s; want 2 seen", got)
	}
	for _, args := range [][]string{
		{"backup", "--redis", "127.0.0.1:1"}, {"backup", "--db", db}, {"backup", "a", "b"}, {"backup"}, {"restore", "x"}, {"restore", "--db", "x"},
		{"serve", "--redis", "127.0.0.1:1", "--backup-dir", backups},
	} {
		if status, out, errOut := runWhole(t, args...); status != statusMisuse || errOut == "" {
			t.Errorf("%q: got status %d, %s%s; want %d and why", args, status, out, errOut, statusMisuse)
		}
	}
}
