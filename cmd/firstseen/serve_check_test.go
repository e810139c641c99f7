package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
)

// TestCheckCrawlProfiles: --check reports the errors of --crawl-profile with which serve would end,
// and changes nothing.
func TestCheckCrawlProfiles(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	checkServe(t, "serve", "--db", db, "--crawl-profile", "news=whatwg") // no store yet
	onStore(t, db, "qiita", func(f *frontier.Frontier) {
		if err := f.SetCrawlProfile(t.Context(), "news", canon.WHATWG()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.AddBatch(t.Context(), []frontier.Link{{URL: "http://a.example/", Crawl: "plain"}}); err != nil {
			t.Fatal(err)
		}
	})
	for _, good := range []string{"news=whatwg", "plain=qiita", "other=none", "default=whatwg", "default=surt"} {
		for range 2 { // the first changed nothing
			checkServe(t, "serve", "--db", db, "--crawl-profile", good)
		}
	}
	for _, c := range []struct {
		value, want string
		status      int
	}{
		{"news=surt", `crawl "news" to surt: its keys are made by whatwg`, statusFailed},
		{"plain=whatwg", `crawl "plain" to whatwg: its keys are made by qiita`, statusFailed},
		{"plain=unknown", `--crawl-profile: got "plain=unknown"`, statusMisuse},
		{"plain", `--crawl-profile: got "plain"`, statusMisuse},
	} {
		for _, check := range [][]string{{"--check"}, nil} {
			if check == nil && c.status != statusMisuse {
				continue // serve itself: TestSetCrawlProfile
			}
			args := append([]string{"serve", "--db", db, "--crawl-profile", c.value}, check...)
			status, _, errOut := runCommand(t, args...)
			if status != c.status || !strings.Contains(errOut, c.want) {
				t.Errorf("%v: got status %d, %s; want %d and %q", args, status, errOut, c.status, c.want)
			}
		}
	}
}

// TestCheckFindsWhatServeEndsWith: ports that no listener can have, and lines of a file that would be taken for something else.
func TestCheckFindsWhatServeEndsWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(text string) []string {
		f, err := os.CreateTemp(dir, "conf")
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{"--config", f.Name()}
	}
	db := "db = " + filepath.Join(dir, "db") + "\n"
	checkServe(t, append([]string{"serve"}, file("\ufeff"+db)...)...)
	for want, args := range map[string][]string{
		`got --http "127.0.0.1:99999"`:             append(file(db), "--http", "127.0.0.1:99999"),
		`got --grpc "127.0.0.1:x"`:                 append(file(db), "--grpc", "127.0.0.1:x"),
		`cannot use setting http; got "off"; want`: file(db + `http = "off"`),
		`cannot use setting http; got off # no`:    file(db + `http = off # no`),
	} {
		if status, _, said := runCommand(t, append([]string{"serve", "--check"}, args...)...); status != statusMisuse || !strings.Contains(said, want) {
			t.Errorf("got status %d, %s; want %d and %s", status, said, statusMisuse, want)
		}
	}
}
