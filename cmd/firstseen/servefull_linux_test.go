package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestServeEndsWhenTheDiskFails limits the size of files, so that the log of the store cannot
// grow. The daemon answers "failed" for URLs that it cannot store, reports that the store failed, and
// ends with status 3, so that its supervisor acts. A new process has every acknowledged URL.
func TestServeEndsWhenTheDiskFails(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	addrs, release, err := freeport.Take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "db")
	d := &daemon{t: t, grpc: addrs[0], http: addrs[1], log: &logTail{}, ended: make(chan struct{})}
	d.cmd = exec.Command("sh", "-c", `ulimit -f 2000 && exec "$0" "$@"`, self, "serve", "--grpc", d.grpc, "--http", d.http, "--db", db, "--min-free", "-1", "--keep-urls")
	d.await(t)
	acked, failed := offerUntilItFails(t, d.http)
	if len(acked) == 0 || !failed {
		t.Fatalf("got %d acknowledged, failed %v; want some, and then a failure", len(acked), failed)
	}
	hang.Within(t, "the daemon", func() { <-d.ended })
	if got := d.cmd.ProcessState.ExitCode(); got != statusFailed || !strings.Contains(d.log.String(), `msg="the store failed"`) {
		t.Errorf("got status %d, want %d, and the reason in the log:\n%s", got, statusFailed, d.log)
	}
	again := startDaemon(t, db)
	for chunk := range slices.Chunk(acked, 500) {
		if got := verdicts(t, again.http, chunk); strings.Contains(got, "new") {
			t.Errorf("some of what was acknowledged is new: %s", got)
		}
	}
	if got := again.end(syscall.SIGTERM); got != 0 {
		t.Errorf("got status %d; want 0:\n%s", got, again.log)
	}
}

// offerUntilItFails returns the acknowledged URLs.
func offerUntilItFails(t *testing.T, address string) (acked []string, failed bool) {
	t.Helper()
	for round := range 100 {
		var body bytes.Buffer
		for i := range 100 {
			fmt.Fprintf(&body, "{\"url\":\"http://h%d.example/%d/%x\"}\n", i%10, round, noise(round*100+i))
		}
		answer, err := http.Post("http://"+address+"/v1/urls?brief", "application/x-ndjson", &body)
		if err != nil {
			return acked, true
		}
		for d := json.NewDecoder(answer.Body); ; {
			var v struct{ URL, Verdict string }
			if d.Decode(&v) != nil {
				break
			}
			if v.Verdict == "new" {
				acked = append(acked, v.URL)
			} else {
				failed = true
			}
		}
		_ = answer.Body.Close() // it was read as far as it goes
		if failed {
			return acked, true
		}
	}
	return acked, false
}

// noise is a text that doesn't compress.
func noise(seed int) []byte {
	b := make([]byte, 700)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
