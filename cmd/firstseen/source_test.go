package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestExportAgrees exports and copies a crawl through its daemon, and from the store after the
// daemon has ended: the files are the same.
func TestExportAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	d := startDaemon(t, db, "--delay", "0", "--crawl-profile", "news=whatwg")
	var urls []string
	for i := range 300 {
		urls = append(urls, fmt.Sprintf("http://%c.example/%d", 'a'+rune(i%7), i))
	}
	if got := verdicts(t, d.http, urls); strings.Count(got, "new") != len(urls) {
		t.Fatalf("got %s; want all new", got)
	}
	resp, err := http.Post("http://"+d.http+"/v1/urls", "application/x-ndjson", strings.NewReader(`{"crawl":"news","url":"http://n.example//a#b"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	warned := func(crawl string, want bool) {
		t.Helper()
		_, _, errOut := runCommand(t, "copy", "--daemon", d.http, "--crawl", crawl, "--to-file", "-")
		if strings.Contains(errOut, "the daemon serves crawl "+crawl+" meanwhile (0 leased)") != want {
			t.Errorf("copy of %s: got %s; want a warning that it is served: %t", crawl, errOut, want)
		}
	}
	warned("DEFAULT", true)
	for _, args := range []string{"delay --queue a.example 5s", "limit --queue b.example --completed 7", "pause --all"} {
		mustRun(t, append(strings.Fields(args), "--daemon", d.http)...)
	}
	warned("DEFAULT", false)
	exports := []string{"export", "export --urls", "export --sxurl", "export --hashed-uri", "export --urls --completed", "export --crawl news", "export --crawl news --hashed-uri"}
	files := func(name string, where ...string) (all []string) {
		for i, args := range exports {
			out := filepath.Join(dir, fmt.Sprintf("%s-%d", name, i))
			mustRun(t, append(append(strings.Fields(args), where...), "-o", out)...)
			all = append(all, out)
		}
		if where[0] == "--db" {
			where = []string{"--from-db", db}
		}
		for _, crawl := range []string{"DEFAULT", "news"} {
			out := filepath.Join(dir, name+"-copy-"+crawl)
			counts := mustRun(t, append([]string{"copy", "--json", "--crawl", crawl, "--to-file", out}, where...)...)
			if err := os.WriteFile(out+".counts", []byte(counts), 0o600); err != nil {
				t.Fatal(err)
			}
			mustRun(t, append([]string{"copy", "--crawl", crawl, "--to-db", filepath.Join(dir, name+".db")}, where...)...)
			all = append(all, out, out+".counts")
		}
		listed := filepath.Join(dir, name+".list")
		text := mustRun(t, "list", "--db", filepath.Join(dir, name+".db"), "--json") + withoutSizes(mustRun(t, "stats", "--json", "--crawl", "*", "--db", filepath.Join(dir, name+".db")))
		if err := os.WriteFile(listed, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return append(all, listed)
	}
	live := files("live", "--daemon", d.http)
	for args, want := range map[string]int{"export --crawl none": statusMisuse, "export --crawl *": statusMisuse, "export --completed": statusMisuse, "copy --to-file - --crawl none": statusMisuse} {
		if status, _, errOut := runWhole(t, append(strings.Fields(args), "--daemon", d.http)...); status != want {
			t.Errorf("%s: got status %d, %s; want %d", args, status, errOut, want)
		}
	}
	for _, args := range []string{"export --db", "copy --to-file - --from-db", "pause --all --db", "forget --all --db", "purge --before 2020-01-01 --db"} {
		if status, _, errOut := runWhole(t, append(strings.Fields(args), db)...); status != statusFailed || !strings.Contains(errOut, "use --daemon") {
			t.Errorf("%s of a store in use: got status %d, %s; want a hint", args, status, errOut)
		}
	}
	if got := d.end(syscall.SIGTERM); got != 0 {
		t.Fatalf("got exit status %d; want 0\n%s", got, d.log)
	}
	stopped := files("stopped", "--db", db)
	for i := range live {
		a, errA := os.ReadFile(live[i])
		b, errB := os.ReadFile(stopped[i])
		if errA != nil || errB != nil || !bytes.Equal(a, b) || len(a) == 0 && exports[min(i, len(exports)-1)] != "export --urls --completed" {
			t.Errorf("%s: got %d bytes, %v; want the %d bytes of the store, %v: %.200q and %.200q", live[i], len(a), errA, len(b), errB, a, b)
		}
	}
}

// TestExportBrokeOff has a daemon break off its answer: the file that was there stays.
func TestExportBrokeOff(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile(crawlFile(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 20, len(whole) / 2, len(whole) - 1} {
		d := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Firstseen-Crawl", "%7B%7D")
			_, _ = w.Write(whole[:n]) // the rest does not come
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		defer d.Close()
		out := filepath.Join(dir, "out")
		if err := os.WriteFile(out, []byte("good"), 0o600); err != nil {
			t.Fatal(err)
		}
		addr := strings.TrimPrefix(d.URL, "http://")
		for _, args := range [][]string{{"copy", "--to-file", out}, {"export", "-o", out}, {"export", "--urls", "-o", out}} {
			status, _, errOut := runWhole(t, append(args, "--daemon", addr)...)
			if status != statusFailed || !strings.Contains(errOut, "broke off") {
				t.Errorf("%s after %d bytes: got status %d, %s; want that it broke off", args, n, status, errOut)
			}
			if text, err := os.ReadFile(out); err != nil || string(text) != "good" {
				t.Errorf("%s after %d bytes: got file %q, %v; want it as it was", args, n, text, err)
			}
		}
	}
}
