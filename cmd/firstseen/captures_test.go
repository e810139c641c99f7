package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServeWithoutCaptures starts the daemon where the fetches it kept are damaged, cannot be
// read, or are in use: it serves, logs the reason, and ends well; verify reports the damage.
func TestServeWithoutCaptures(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	damage := func(t *testing.T, log string) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)-10] ^= 1
		if err := os.WriteFile(log, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(t *testing.T, log string) {
		if err := os.RemoveAll(filepath.Dir(log)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Dir(log), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	later := func(t *testing.T, log string) {
		if err := os.WriteFile(log, []byte("firstseen captures v9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		harm         func(t *testing.T, log string)
		logs, verify string
	}{
		"damaged":       {damage, "level=WARN msg=\"some fetches", "serve ignores 1 of its lines"},
		"a file":        {replace, "level=ERROR msg=\"serving without the fetches", "cannot verify the fetches"},
		"later version": {later, "level=ERROR msg=\"serving without the fetches", "another format"},
	} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "db")
			d := startDaemon(t, db, "--delay", "0")
			lease := reportOne(t, d, "http://a.example/1")
			if !strings.Contains(lease, `"ok"`) {
				t.Fatalf("got %s; want it settled", lease)
			}
			d.end(syscall.SIGTERM)
			c.harm(t, filepath.Join(capturesDir(db), "captures.log"))
			status, _, out := runCommand(t, "verify", "--db", db)
			if status != statusFailed || !strings.Contains(out, c.verify) || !strings.Contains(out, "nothing in the store depends on them") {
				t.Errorf("verify: got %d, %s; want status 3 and %q", status, out, c.verify)
			}
			d = startDaemon(t, db, "--delay", "0")
			if !strings.Contains(d.log.String(), c.logs) {
				t.Errorf("got log %s; want %s", d.log, c.logs)
			}
			if got := verdicts(t, d.http, []string{"http://a.example/1", "http://a.example/2"}); got != "duplicate new" {
				t.Errorf("got %s; want what was seen, and a new one", got)
			}
			reportOne(t, d, "http://a.example/3")
			if got := d.end(syscall.SIGTERM); got != 0 {
				t.Errorf("got exit status %d; want 0:\n%s", got, d.log)
			}
		})
	}
}

// reportOne offers a URL, leases it and settles it with what the fetch gave.
func reportOne(t *testing.T, d *daemon, url string) string {
	t.Helper()
	post(t, d.http, "/v1/urls", fmt.Sprintf(`{"url":%q}`, url))
	leased := post(t, d.http, "/v1/lease", `{"crawl":"DEFAULT","max_in_flight":10}`)
	field := func(name string) string {
		_, rest, _ := strings.Cut(leased, `"`+name+`":"`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	return post(t, d.http, "/v1/done", fmt.Sprintf(`{"leases":[{"key":%q,"token":%q,"fetched":{"url":%q,"status":200,"digest":"d"}}]}`,
		field("key"), field("token"), url))
}

// post sends a body and returns the answer.
func post(t *testing.T, address, path, body string) string {
	t.Helper()
	resp, err := http.Post("http://"+address+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
