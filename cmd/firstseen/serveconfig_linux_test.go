package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsAreReadAgain changes the file of settings of a daemon, and sends SIGHUP: the log level
// changes, and the log names what needs a restart. A bad file changes nothing.
func TestSettingsAreReadAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "serve.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("delay = 2s\nmax-depth = 5\n")
	d := startDaemon(t, filepath.Join(dir, "db"), "--config", file, "--attempts", "3")
	d.reload("msg=reloaded")
	write("delay = 2s\nmax-depth = deep\nlog-level = debug\n")
	d.reload(`line 2: cannot use setting max-depth: got \"deep\"; want a whole number`)
	write("delay = 2s\nattempts = 9\nlog-level = lots\n")
	d.reload(`cannot use setting log-level: got \"lots\"`)
	if log := d.log.String(); strings.Contains(log, "need a restart") || strings.Contains(log, "level=DEBUG") {
		t.Errorf("got %s; want nothing changed", log)
	}
	write("delay = 9s\nattempts = 9\nlog-level = warn\n")
	d.reload(`msg="settings changed that need a restart" file=` + file + ` settings="[delay max-depth]"`)
	write("delay = 9s\nmax-depth = 5\nlog-level = info\n")
	d.reload(`settings=[delay]`)
}
