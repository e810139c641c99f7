package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// TestUniqRecordsWhatAClosedPipeTook: the reader takes a line and ends; the URLs it was sent are
// recorded, and the program ends without a complaint.
func TestUniqRecordsWhatAClosedPipeTook(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "uniq", "--db", filepath.Join(dir, "seen"))
	cmd.Env = append(os.Environ(), asCommand+"=1")
	feed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd.Stderr = &errOut
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
	_ = out.Close()
	if _, err := feed.Write([]byte("http://b.example/\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(errOut.String(), "2 read") || strings.Contains(errOut.String(), "pipe") {
		t.Errorf("got %v, %s; want it ended, with its closing line", err, errOut.String())
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte("http://b.example/\nhttp://a.example/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, "uniq", "--db", filepath.Join(dir, "seen"), list); got != "http://b.example/\n" {
		t.Errorf("got %q; want what was not printed yet", got)
	}
}

// TestWithoutClosedPipe: of the errors of a run, only that of the closed pipe is dropped.
func TestWithoutClosedPipe(t *testing.T) {
	closed := fmt.Errorf("cannot write output: %w", syscall.EPIPE)
	full := fmt.Errorf("cannot record: %w", syscall.ENOSPC)
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "<nil>"},
		{closed, "<nil>"},
		{full, full.Error()},
		{errors.Join(errors.Join(closed, nil), nil), "<nil>"},
		{errors.Join(errors.Join(closed, full), nil), full.Error()},
	} {
		if got := fmt.Sprint(withoutClosedPipe(c.err)); got != c.want {
			t.Errorf("%v: got %s; want %s", c.err, got, c.want)
		}
	}
}

// TestDefaultMemory: a quarter of the machine, and never less than --memory accepts.
func TestDefaultMemory(t *testing.T) {
	for machine, want := range map[int64]int64{64 << 20: 256 << 20, 1 << 30: 256 << 20, 4<<30 + 1<<20: 1 << 30, 64 << 30: 16 << 30} {
		if got := defaultMemory(machine); got != want || got < leastMemory {
			t.Errorf("%d bytes: got %s; want %s", machine, sizeText(got), sizeText(want))
		}
	}
}

// TestUniqWaitsForItsStore: a second process on the directory fails with --no-wait, and is
// interrupted like any other.
func TestUniqWaitsForItsStore(t *testing.T) {
	db := filepath.Join(t.TempDir(), "seen")
	w, _, _, err := openSeenSet(t.Context(), db, canon.Qiita())
	if err != nil {
		t.Fatal(err)
	}
	status, _, errOut := runCommand(t, "uniq", "--db", db, "--no-wait")
	if status != statusFailed || !strings.Contains(errOut, "another process has the store open") {
		t.Errorf("got status %d, %s; want a failure that says why", status, errOut)
	}
	done := make(chan string)
	go func() {
		_, _, errOut := runCommand(t, "uniq", "--db", db)
		done <- errOut
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !strings.Contains(got, "0 read") {
		t.Errorf("got %s; want it to run after the other ended", got)
	}
}

// TestAnswersDontWaitForMoreInput reads each answer of canon, hash and explain before the next
// URL is written.
func TestAnswersDontWaitForMoreInput(t *testing.T) {
	for _, name := range []string{"canon", "hash", "explain"} {
		in, feed := io.Pipe()
		out, printed := io.Pipe()
		done := make(chan int)
		go func() { done <- run(t.Context(), []string{name, "--json"}, in, printed, io.Discard) }()
		buf := make([]byte, 64<<10)
		for i := range 3 {
			if _, err := fmt.Fprintf(feed, "http://a.example/%d\n", i); err != nil {
				t.Fatal(err)
			}
			n, err := out.Read(buf)
			if want := fmt.Sprintf("http://a.example/%d", i); err != nil || !strings.Contains(string(buf[:n]), want) {
				t.Errorf("%s: got %s, %v; want %s", name, buf[:n], err, want)
			}
		}
		_ = feed.Close()
		if status := <-done; status != statusOK {
			t.Errorf("%s: got status %d", name, status)
		}
	}
}
