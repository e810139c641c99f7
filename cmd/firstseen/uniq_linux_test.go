package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// uniqProcess returns a process that runs uniq --db, under a limit of the shell if one is
// given, with its output in out.
func uniqProcess(t *testing.T, out *bytes.Buffer, limit, db string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-c", limit + `exec "$0" uniq --db "$@"`, self, db}, args...)
	cmd := exec.CommandContext(t.Context(), "sh", args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stdout = out
	return cmd
}

// manyURLs writes a list of different URLs that don't compress, and returns its name.
func manyURLs(t *testing.T, n int) (name, text string) {
	t.Helper()
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "http://a.example/%x\n", noise(i)[:50])
	}
	name = filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(name, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, list.String()
}

// wantAll checks that each line of text is in one of the outputs, and reports how many are in
// more than one.
func wantAll(t *testing.T, text string, outputs ...string) (repeated int) {
	t.Helper()
	n := map[string]int{}
	for _, out := range outputs {
		for line := range strings.Lines(out) {
			n[line]++
		}
	}
	for line := range strings.Lines(text) {
		switch {
		case n[line] == 0:
			t.Fatalf("got %.60s in no output; want it printed", line)
		case n[line] > 1:
			repeated++
		}
	}
	return repeated
}

// TestUniqKilled kills a run at several moments, and runs it again until it ends by itself: the
// outputs together have all URLs, and the next run prints none.
func TestUniqKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	list, text := manyURLs(t, 60_000)
	db := filepath.Join(t.TempDir(), "seen")
	var outputs []string
	kills := 0
	for _, wait := range []time.Duration{50, 100, 150, 250, 400, 0} {
		var out bytes.Buffer
		cmd := uniqProcess(t, &out, "", db, "-q", list)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if wait > 0 {
			time.Sleep(wait * time.Millisecond)
			if cmd.Process.Kill() == nil {
				kills++
			}
		}
		if err := cmd.Wait(); err != nil && wait == 0 {
			t.Fatal(err)
		}
		outputs = append(outputs, out.String())
	}
	repeated := wantAll(t, text, outputs...)
	t.Logf("%d kills, %d of 60,000 URLs printed more than once", kills, repeated)
	if got := command(t, "uniq", "--db", db, "-q", list); got != "" {
		t.Errorf("got %.100s; want nothing printed again", got)
	}
}

// TestUniqOnAFullDisk limits the size of files, so that the seen-set can't grow: the run fails,
// and reports it; the next one prints the URLs that were not recorded.
func TestUniqOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	list, text := manyURLs(t, 60_000)
	db := filepath.Join(t.TempDir(), "seen")
	var out, errOut bytes.Buffer
	cmd := uniqProcess(t, &out, "ulimit -f 600; ", db, list)
	cmd.Stderr = &errOut
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != statusFailed || !strings.Contains(errOut.String(), "the next run prints it again") {
		t.Fatalf("got status %d, %s; want %d, and what it means", got, errOut.String(), statusFailed)
	}
	again := command(t, "uniq", "--db", db, "-q", list)
	repeated := wantAll(t, text, out.String(), again)
	if strings.Count(out.String(), "\n") == 60_000 || again == "" {
		t.Error("got all printed by the first run; want it to end at the failure")
	}
	t.Logf("%d printed before the failure, %d of them again", strings.Count(out.String(), "\n"), repeated)
}

// TestUniqInterrupted sends the signal of Ctrl-C to a run that waits for more input: it ends
// with its closing line, and the URLs it printed are recorded.
func TestUniqInterrupted(t *testing.T) {
	db := filepath.Join(t.TempDir(), "seen")
	cmd := uniqProcess(t, nil, "", db)
	cmd.Stdout = nil
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	feed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := feed.Write([]byte("http://a.example/\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != statusFailed || !strings.Contains(errOut.String(), "1 read: 1 printed") {
		t.Errorf("got status %d, %s; want %d and the closing line", got, errOut.String(), statusFailed)
	}
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("http://a.example/\nhttp://b.example/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, "uniq", "--db", db, "-q", list); got != "http://b.example/\n" {
		t.Errorf("got %q; want what was not printed yet", got)
	}
}

// TestUniqWithoutOutput records nothing where the output is closed: what was printed would be lost.
func TestUniqWithoutOutput(t *testing.T) {
	list, _ := manyURLs(t, 3)
	db := filepath.Join(t.TempDir(), "db")
	run := func(redirect string) (string, error) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec "$0" uniq --db "$@" `+redirect, self, db, list)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		var said bytes.Buffer
		cmd.Stderr = &said
		err = cmd.Run()
		return said.String(), err
	}
	for _, redirect := range []string{">&-", "1<>/dev/null"} {
		if said, err := run(redirect); err == nil || !strings.Contains(said, "standard output is closed") || !strings.Contains(said, "subprocess.DEVNULL") {
			t.Errorf("%s: got %v, %s; want an error that names both causes", redirect, err, said)
		}
	}
	if said, err := run(">/dev/null"); err != nil || !strings.Contains(said, "3 printed") {
		t.Errorf("got %v, %s; want all three printed after the run without output", err, said)
	}
}

// TestFullOutput: whatever the form of the output, one line says that the disk is full, once, and what to do; and all that was read is accounted for.
func TestFullOutput(t *testing.T) {
	list, _ := manyURLs(t, 5000)
	for _, args := range [][]string{
		{"uniq", list}, {"uniq", "--format", "csv", list}, {"uniq", "--format", "parquet", list}, {"uniq", "--keep", "last", list}, {"uniq", "--sort", "host", list},
		{"uniq", "-c", list}, {"uniq", "--db", filepath.Join(t.TempDir(), "a"), list}, {"uniq", "--format", "parquet", "--db", filepath.Join(t.TempDir(), "b"), list},
		{"canon"}, {"replay", list}, {"explain"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		var errOut bytes.Buffer
		status := run(t.Context(), args, bytes.NewReader(text), full, &errOut)
		_ = full.Close()
		got := errOut.String()
		if status != statusFailed || strings.Count(got, "/dev/full") != 1 || strings.Count(got, "firstseen: ") != 1 || !strings.Contains(got, "; free some space") {
			t.Errorf("%q: got status %d, %s; want one message that names the file once and says what to do", args, status, got)
		}
		if args[0] == "uniq" && !strings.Contains(got, "5,000 read: 0 printed, 0 duplicates, 0 refused") || args[0] == "uniq" && !strings.Contains(got, ", 5,000 not printed") {
			t.Errorf("%q: got %s; want each URL in a column", args, got)
		}
	}
}
