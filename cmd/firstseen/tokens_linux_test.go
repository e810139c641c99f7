package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// askWith posts a body with a token, and returns the answer.
func askWith(t *testing.T, d *daemon, token, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNamedTokens steers a daemon with a token for one crawl, and changes its rights by SIGHUP.
func TestNamedTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const team, boss = "team-0123456789abcdef", "boss-0123456789abcdef"
	teamFile, bossFile := file("team", team), file("boss", boss)
	tokens := file("tokens", "admin "+team+" name=team crawls=news\nadmin "+boss+" name=boss\n")
	d := startDaemon(t, filepath.Join(dir, "db"), "--tokens", tokens)
	run := func(tokenFile string, want int, args ...string) string {
		t.Helper()
		status, out, errOut := runWhole(t, append(args, "--daemon", d.http, "--token-file", tokenFile)...)
		if status != want || strings.Contains(out+errOut, team) {
			t.Errorf("%q: got status %d, %s%s; want %d and no token", args, status, out, errOut, want)
		}
		return out + errOut
	}
	for _, crawl := range []string{"news", "other"} {
		if got := askWith(t, d, boss, "/v1/urls", `{"url":"http://a.example/","crawl":"`+crawl+`"}`); !strings.Contains(got, `"new"`) {
			t.Fatalf("got %s; want new", got)
		}
	}
	run(teamFile, 0, "delay", "--crawl", "news", "--queue", "a.example", "5s")
	if got := run(teamFile, statusFailed, "delay", "--crawl", "other", "--queue", "a.example", "5s"); !strings.Contains(got, "the token team is for news") {
		t.Errorf("got %s; want a refusal that names the token and its crawls", got)
	}
	if got := askWith(t, d, team, "/v1/queue", `{"crawl":"other","queue":"a.example","paused":true}`); !strings.Contains(got, "the token team is for news") {
		t.Errorf("got %s; want a refusal that names the token", got)
	}
	run(teamFile, statusFailed, "pause", "--all")
	run(bossFile, 0, "delay", "--crawl", "other", "--queue", "a.example", "5s")
	hup := func(text, logged string) {
		t.Helper()
		file("tokens", text)
		d.reload(logged)
	}
	hup("admin "+team+" crawls=\n", "what the error names stays as it was")
	if log := d.log.String(); !strings.Contains(log, "tokens line 1: cannot use crawls=") {
		t.Errorf("got log %s; want the line of the fault", log)
	}
	run(teamFile, 0, "delay", "--crawl", "news", "--queue", "a.example", "5s")
	hup("write "+team+" crawls=news\n", "msg=reloaded")
	if got := run(teamFile, 0, "add", "--crawl", "news", file("urls", "http://a.example/added\n")); !strings.Contains(got, "1 new") {
		t.Errorf("got %s; want a URL added with a token of its crawl", got)
	}
	hup("admin "+team+" crawls=news,other\n", "msg=reloaded")
	run(teamFile, 0, "delay", "--crawl", "other", "--queue", "a.example", "5s")
	run(bossFile, statusFailed, "delay", "--crawl", "news", "--queue", "a.example", "5s")
}
