package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
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
		var q wire.Queue
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		held[q.Queue] = q.Held
		if q.State == "in-flight" {
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

// TestReadingCommandsWriteNothing runs every command that only reads on a store on disk: no byte and no time of a
// file of it changes, and no file comes or goes.
func TestReadingCommandsWriteNothing(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	onStore(t, db, "qiita", func(f *frontier.Frontier) {
		var urls []frontier.Link
		for i := range 300 {
			urls = append(urls, frontier.Link{URL: fmt.Sprintf("http://%c.example/%d", 'a'+rune(i%7), i)})
		}
		if _, err := f.AddBatch(t.Context(), urls); err != nil {
			t.Fatal(err)
		}
	})
	mustRun(t, "exclude", "--db", db, "--all", "*/no/")
	before := snapshot(t, db)
	for _, args := range []string{
		"stats --db DB", "stats --db DB --crawl * --json", "list --db DB", "list --db DB --queue a.example --json", "list --db DB --search x",
		"export --db DB -o DIR/keys", "export --db DB --urls -o DIR/urls", "export --db DB --hashed-uri -o DIR/hashed", "copy --from-db DB --to-file DIR/crawl.fs",
		"copy --from-db DB --to-db DIR/copy.db", "find --db DB --json", "find --db DB --match */no/ --count", "why --db DB http://a.example/0",
		"exclude --db DB --all --json", "verify --db DB", "serve --db DB --check",
	} {
		status, out, errOut := runCommand(t, strings.Fields(strings.NewReplacer("DB", db, "DIR", dir).Replace(args))...)
		if status != statusOK {
			t.Errorf("%s: got status %d, %s%s", args, status, out, errOut)
		}
		if after := snapshot(t, db); after != before {
			t.Fatalf("%s changed the store:\n%s\nbefore:\n%s", args, after, before)
		}
	}
}

// snapshot lists the files of a directory with their times and contents.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var text []byte
		if !e.IsDir() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %s %x\n", path, info.Mode(), info.ModTime().Format(time.RFC3339Nano), sha256.Sum256(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
