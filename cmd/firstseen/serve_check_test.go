package main

import (
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
