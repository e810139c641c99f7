package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTrustedDeclarationsAreRules: what a trusted host declares acts as a rule at once and after
// a restart, is counted and explained, and ends when the host is no longer trusted. Another
// host's declarations do nothing.
func TestTrustedDeclarationsAreRules(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	trust := func(text string) {
		t.Helper()
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust(`{"trust_declared": ["a.example"], "params": [{"host": "a.example", "drop": ["utm"]}]}`)
	flags := []string{"--rule-file", rules, "--delay", "0"}
	d := startDaemon(t, filepath.Join(dir, "db"), flags...)
	fetchedDeclaring(t, d, "http://a.example/p?id=1", `params=("ref")`)
	fetchedDeclaring(t, d, "http://b.example/p?id=1", `params=("ref")`)
	d.awaitLog("the rules that trusted hosts declare are in use")
	check := func(d *daemon, urls []string, want string) {
		t.Helper()
		if got := verdicts(t, d.http, urls); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
	check(d, []string{"http://a.example/p?id=1&ref=2&utm=3"}, "duplicate")
	check(d, []string{"http://a.example/q?id=1&ref=2"}, "new")
	check(d, []string{"http://b.example/p?id=1&ref=2"}, "new")
	if text := fetchText(t, d, "/v1/explain?url="+url.QueryEscape("http://a.example/p?id=1&ref=2")); !strings.Contains(text, "a.example/p$ (No-Vary-Search)") {
		t.Errorf("got %s; want the declaration explained", text)
	}
	if text := fetchText(t, d, "/metrics"); !strings.Contains(text, "firstseen_declared_rules 1") {
		t.Error("got no count of one rule in /metrics")
	}
	if status := d.end(syscall.SIGTERM); status != 0 {
		t.Fatalf("got status %d\n%s", status, d.log)
	}
	d = startDaemon(t, filepath.Join(dir, "db"), flags...)
	check(d, []string{"http://a.example/p?id=1&ref=4"}, "duplicate")
	trust(`{}`)
	d.reload("reloaded")
	check(d, []string{"http://a.example/p?id=1&ref=5"}, "new")
}

// TestTrustNeedsItsOwnStore: each reading of the rule file, at the start and at a reload, refuses trust_declared with --redis, unless
// the heuristics are off.
func TestTrustNeedsItsOwnStore(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"trust_declared": ["*"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		redis      []string
		heuristics bool
		want       string
	}{
		{nil, true, ""},
		{[]string{"127.0.0.1:1"}, false, ""},
		{[]string{"127.0.0.1:1"}, true, "cannot use trust_declared"},
	} {
		f := serveFlags{profile: profileFlags{profile: "qiita", file: rules}, redis: redisFlags{c.redis}, heuristics: c.heuristics}
		if _, _, _, err := f.profiles(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// fetchedDeclaring offers a URL, leases it and reports a fetch that declared something.
func fetchedDeclaring(t *testing.T, d *daemon, raw, search string) {
	t.Helper()
	if got := verdicts(t, d.http, []string{raw}); got != "new" {
		t.Fatalf("got %s; want new", got)
	}
	var leased struct {
		Leases []map[string]any `json:"leases"`
	}
	if err := json.Unmarshal([]byte(post(t, d.http, "/v1/lease", `{"max": 1}`)), &leased); err != nil || len(leased.Leases) != 1 {
		t.Fatalf("got %v, %v; want one lease", leased, err)
	}
	l := leased.Leases[0]
	body, err := json.Marshal(map[string]any{"leases": []any{map[string]any{"crawl": l["crawl"], "key": l["key"], "token": l["token"],
		"outcome": "done", "fetched": map[string]any{"url": raw, "status": 200, "no_vary_search": search}}}})
	if err != nil {
		t.Fatal(err)
	}
	post(t, d.http, "/v1/done", string(body))
}

// fetchText returns the answer to a GET.
func fetchText(t *testing.T, d *daemon, path string) string {
	t.Helper()
	res, err := http.Get("http://" + d.http + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v: %s", res.Status, err, text)
	}
	return string(text)
}
