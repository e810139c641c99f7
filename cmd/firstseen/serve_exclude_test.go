package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// TestServeExcludesHashed: what a list of hashed URIs hides is refused, in any
// spelling, and nothing else.
func TestServeExcludesHashed(t *testing.T) {
	hasher := hasheduri.Hasher{Variant: hasheduri.N}
	hidden, err := hasher.Sum("http://secret.example/a")
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(hidden.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, t.TempDir(), "--exclude-hashed", list)
	offered := `{"url":"HTTP://Secret.example:80/%61#x"}` + "\n" + `{"url":"http://secret.example/b"}` + "\n"
	answer, err := http.Post("http://"+d.http+"/v1/urls", "application/x-ndjson", strings.NewReader(offered))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"excluded"`) || !strings.Contains(lines[1], `"new"`) {
		t.Errorf("got %s; want the first excluded, the second new", body)
	}
}

// TestServeReloadsExclusions changes the list of a running daemon. Neither interface hands out
// queued URLs that are now excluded. Each drop is logged and counted.
func TestServeReloadsExclusions(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	list := filepath.Join(t.TempDir(), "list")
	hide := func(urls ...string) {
		t.Helper()
		var text strings.Builder
		for _, u := range urls {
			hasher := hasheduri.Hasher{Variant: hasheduri.N}
			hidden, err := hasher.Sum(u)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&text, hidden)
		}
		if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hide()
	d := startDaemon(t, t.TempDir(), "--exclude-hashed", list, "--delay", "0")
	offered := []string{"http://a.example/1", "http://b.example/secret", "http://c.example/secret", "http://d.example/2"}
	if got := verdicts(t, d.http, offered); got != "new new new new" {
		t.Fatalf("got %s; want all new", got)
	}
	hide(offered[1], offered[2])
	d.reload("entries=2")
	got := getURLs(t, d.client(), &pb.GetParams{MaxQueues: 2})
	leased := post(t, d.http, "/v1/lease", `{"max":4,"max_in_flight":10}`)
	for i, u := range offered {
		if handed := slices.Contains(got, u) || strings.Contains(leased, u); handed != (i == 0 || i == 3) {
			t.Errorf("%s: handed out %v", u, handed)
		}
	}
	d.awaitLog(`reason=excluded`)
	answer, err := http.Get("http://" + d.http + "/v1/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"seen":2`, `"firstseen_urls_dropped_total{reason=\"excluded\"}":2`, `"reason":"excluded","rule":"list","dropped":true,"count":2`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the stats lack %s: %s", want, body)
		}
	}
	if err := os.WriteFile(list, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.reload("not everything was reloaded")
	if got := verdicts(t, d.http, []string{offered[1]}); got != "refused" {
		t.Errorf("got %s after a list that can't be read; want the old one in force", got)
	}
	d.end(syscall.SIGTERM)
}

// TestServeKeepsPoisonURLsOverGRPC lets leases run out: GetURLs hands the URL out without end, unless it has
// a bound of its own; then the URL is dropped, logged, counted and listed.
func TestServeKeepsPoisonURLsOverGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	const url = "http://a.example/poison"
	for _, bound := range []string{"1", "1,1"} {
		d := startDaemon(t, t.TempDir(), "--delay", "0", "--max-expired", bound)
		verdicts(t, d.http, []string{url})
		for i := range 3 {
			got := getURLs(t, d.client(), &pb.GetParams{MaxQueues: 1, DelayRequestable: 1})
			if want := bound == "1" || i == 0; (len(got) == 1) != want {
				t.Errorf("bounds %s, lease %d: got %v; want it handed out: %v", bound, i, got, want)
			}
			<-time.After(1100 * time.Millisecond) // the lease runs out
		}
		if bound == "1" {
			d.end(syscall.SIGTERM)
			continue
		}
		d.awaitLog(`reason=expired-leases crawl=DEFAULT urls=1 examples=[` + url + `]`)
		stats, err := d.client().GetStats(t.Context(), &pb.QueueWithinCrawlParams{})
		if err != nil || stats.Counts["dropped"] != 1 {
			t.Errorf("got %v, %v; want 1 dropped", stats, err)
		}
		list, err := d.client().ListURLs(t.Context(), &pb.ListUrlParams{})
		if err != nil {
			t.Fatal(err)
		}
		if item, err := list.Recv(); err != nil || item.GetKnown().GetInfo().GetUrl() != url {
			t.Errorf("got %v, %v; want it listed", item, err)
		}
		d.end(syscall.SIGTERM)
	}
}
