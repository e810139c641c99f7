package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/firstseen/firstseen/cmd/internal/queuestate"
)

// TestAskDaemon looks into a store that a daemon has open, by the daemon, and into the store
// itself afterwards: both list the same.
func TestAskDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	db := filepath.Join(t.TempDir(), "db")
	d := startDaemon(t, db)
	if got := verdicts(t, d.http, []string{"http://a.example/1", "http://a.example/2", "http://b.example/1"}); got != "new new new" {
		t.Fatalf("got %s; want all new", got)
	}
	lease(t, d, map[string]bool{}, 1)
	for _, name := range []string{"list", "stats"} {
		status, out, errOut := runWhole(t, name, "--db", db)
		if status != statusFailed || !strings.Contains(errOut, "use --daemon") {
			t.Errorf("%s of a store in use: got status %d, %s%s; want a hint", name, status, out, errOut)
		}
	}
	wantLists(t, "--daemon", d.http)
	if got := mustRun(t, "stats", "--daemon", d.http); !strings.Contains(got, "3  queued or leased") || !strings.Contains(got, "profile qiita") {
		t.Errorf("got %s; want 3 URLs", got)
	}
	if status, _, errOut := runWhole(t, "list", "--daemon", d.http, "--db", db); status != statusMisuse {
		t.Errorf("got status %d, %s; want %d", status, errOut, statusMisuse)
	}
	if status, _, errOut := runWhole(t, "list", "--daemon", "ftp://x"); status != statusMisuse {
		t.Errorf("got status %d, %s; want %d", status, errOut, statusMisuse)
	}
	if got := d.end(syscall.SIGTERM); got != 0 {
		t.Errorf("got exit status %d; want 0\n%s", got, d.log)
	}
	wantLists(t, "--db", db)
}

// wantLists asserts the states of the queues of TestAskDaemon: one URL is leased.
func wantLists(t *testing.T, from ...string) {
	t.Helper()
	held, leased := map[string]int64{}, 0
	for _, line := range strings.Split(strings.TrimSpace(mustRun(t, append([]string{"list", "--json"}, from...)...)), "\n") {
		var q listedQueue
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		held[q.Queue] = q.Held
		if q.State == queuestate.InFlight {
			leased++
		}
	}
	if len(held) != 2 || held["a.example"] != 2 || held["b.example"] != 1 || leased != 1 {
		t.Errorf("%q: got %v, %d in flight; want two queues of 2 and 1 URLs, one in flight", from, held, leased)
	}
	if got := mustRun(t, append([]string{"list", "--search", "B.EX"}, from...)...); strings.Count(got, "\n") != 1 || !strings.Contains(got, "b.example") {
		t.Errorf("%q: got %s; want b.example alone", from, got)
	}
	if got := mustRun(t, append([]string{"list", "--queue", "a.example"}, from...)...); strings.Count(got, "\n") != 1 || !strings.Contains(got, "a.example") {
		t.Errorf("%q: got %s; want a.example alone", from, got)
	}
}
