package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// onStore opens a store with a profile, and calls do.
func onStore(t *testing.T, db, profile string, do func(f *frontier.Frontier)) {
	t.Helper()
	p, err := canon.ParseProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pebblestore.Open(db, pebblestore.Options{KeepURLs: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frontier.New(s, frontier.Options{Profile: p, Delay: -1})
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	do(f)
	if err := errors.Join(f.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// toMigrate makes a store: URLs that wait, one with a discriminator, one that is completed, settings
// of a queue, and a crawl with a profile of its own and a key without a text.
func toMigrate(t *testing.T, db string) {
	t.Helper()
	onStore(t, db, "qiita", func(f *frontier.Frontier) {
		whatwg, err := canon.ParseProfile("whatwg")
		if err == nil {
			err = f.SetCrawlProfile(t.Context(), "news", whatwg)
		}
		if err != nil {
			t.Fatal(err)
		}
		links := []frontier.Link{
			{URL: "http://done.example/1"},
			{URL: "http://a.example/x?b=2&a=1", Meta: []byte("data"), Priority: 3, Depth: 2},
			{URL: "http://www.a.example/x?a=1&b=2", Queue: "a.example"},
			{URL: "http://a.example/post", Discriminator: "POST"},
			{URL: "http://b.example//two#f"},
			{URL: "http://n.example//x", Crawl: "news"},
		}
		results, err := f.AddBatch(t.Context(), links[:1])
		if err != nil || results[0].Status != frontier.StatusNew {
			t.Fatal(results, err)
		}
		lease, err := f.Next(t.Context())
		if err == nil { // one page twice, and one that failed and is forgotten: what is kept of the URLs does not count that
			err = f.Recrawl(t.Context(), lease, time.Now())
		}
		for _, end := range []func(context.Context, *frontier.Lease) error{f.Done, f.Drop} {
			if err == nil {
				lease, err = f.Next(t.Context())
			}
			if err == nil {
				err = end(t.Context(), lease)
			}
			if err == nil && lease.URL == links[0].URL {
				_, err = f.Add(t.Context(), "http://gone.example/")
			}
		}
		_, errForget := f.Forget(t.Context(), frontier.Selection{URLs: []frontier.Link{{URL: "http://gone.example/"}}})
		if errors.Join(err, errForget) != nil {
			t.Fatal(err, errForget)
		}
		results, err = f.AddBatch(t.Context(), links[1:])
		for _, r := range results {
			if r.Status != frontier.StatusNew {
				t.Fatalf("got %+v; want all new", r)
			}
		}
		delay := 7 * time.Second
		err = errors.Join(err, f.Configure(t.Context(), "", "b.example", store.QueueChange{Delay: &delay}))
		if _, errSee := f.See(t.Context(), []frontier.Link{{URL: "http://n.example/seen", Crawl: "news"}}); errors.Join(err, errSee) != nil {
			t.Fatal(err, errSee)
		}
	})
}

// wantKnown asserts the state of a URL, and that it is a duplicate.
func wantKnown(t *testing.T, f *frontier.Frontier, u frontier.Link, want store.State) frontier.Entry {
	t.Helper()
	e, err := f.Lookup(t.Context(), u)
	if err != nil || e.State != want {
		t.Errorf("%+v: got state %v, %v; want %v", u, e.State, err, want)
	}
	return e
}

// TestMigrateProfile takes a store to another profile: what has a text has the keys of that, merges
// and splits are listed, and the old store is as it was.
func TestMigrateProfile(t *testing.T) {
	for profile, c := range map[string]struct {
		want    transfer.RekeyCounts
		listed  []string
		variant frontier.Link // of a.example/x, which was no variant before
	}{
		"qiita:+strip-www": {
			transfer.RekeyCounts{URLs: 5, Kept: 2, Merged: 1},
			[]string{"merge\thttp://www.a.example/x?a=1&b=2\thttp://a.example/x?b=2&a=1\n"},
			frontier.Link{URL: "http://www.a.example/x?b=2&a=1"},
		},
		"whatwg": {
			transfer.RekeyCounts{URLs: 5, Kept: 2, Split: 2},
			[]string{
				"split\thttp://b.example//two#f\thttp://b.example/two\n",
				"split\thttp://a.example/x?b=2&a=1\thttp://a.example/x?a=1&b=2\n",
			},
			frontier.Link{URL: "HTTP://a.example:80/x?b=2&a=1"},
		},
	} {
		t.Run(profile, func(t *testing.T) {
			dir := t.TempDir()
			db, to := filepath.Join(dir, "old"), filepath.Join(dir, "new")
			toMigrate(t, db)
			mustRun(t, "set", "--db", db, "--crawl", "news", "--paused", "--delay", "2s", "--order", "depth")
			mustRun(t, "set", "--db", db, "--all", "--weight", "4")
			mustRun(t, "exclude", "--db", db, "--crawl", "news", "c.example")
			before := mustRun(t, "list", "--db", db, "--json") + mustRun(t, "export", "--db", db)
			args := []string{"migrate", "--db", db, "--to", to, "--profile", profile}
			status, out, errOut := runWhole(t, args...)
			if status != statusOK {
				t.Fatalf("got status %d, %s%s", status, out, errOut)
			}
			for _, line := range c.listed {
				if !strings.Contains(out, line) {
					t.Errorf("got %s; want %q", out, line)
				}
			}
			if after := mustRun(t, "list", "--db", db, "--json") + mustRun(t, "export", "--db", db); after != before {
				t.Error("the old store has changed")
			}
			mustRun(t, "verify", "--db", to)
			for want, args := range map[string][]string{
				"nothing changed: paused, delay 2s": {"set", "--crawl", "news", "--order", "depth"}, "nothing changed": {"set", "--all", "--weight", "4"}, "c.example": {"exclude", "--crawl", "news"},
			} {
				if out := mustRun(t, append(args, "--db", to)...); !strings.Contains(out, want) {
					t.Errorf("got %s; want %s", out, want)
				}
			}
			args[4] = to + "2"
			var n transfer.RekeyCounts
			if err := json.Unmarshal([]byte(mustRun(t, append(args, "--json")...)), &n); err != nil || n != c.want {
				t.Errorf("got %+v, %v; want %+v", n, err, c.want)
			}
			onStore(t, to, profile, func(f *frontier.Frontier) {
				wantKnown(t, f, frontier.Link{URL: "http://done.example/1"}, store.Done)
				wantKnown(t, f, frontier.Link{URL: "http://a.example/post", Discriminator: "POST"}, store.Queued)
				wantKnown(t, f, frontier.Link{URL: "http://n.example//x", Crawl: "news"}, store.Queued)
				e := wantKnown(t, f, c.variant, store.Queued)
				if e.URL != "http://a.example/x?b=2&a=1" || string(e.Meta) != "data" || e.Priority != 3 || e.Depth != 2 || e.Entry.Queue != "a.example" {
					t.Errorf("got %+v; want all that was kept of it", e)
				}
				if q, err := f.Queue(t.Context(), "", "b.example"); err != nil || q.Delay != 7*time.Second {
					t.Errorf("got %+v, %v; want the delay of the queue", q, err)
				}
				st, err := f.Stats(t.Context(), "")
				if q, errQueue := f.Queue(t.Context(), "", "done.example"); errors.Join(err, errQueue) != nil || q.Fetched != 2 || st.Fetched != 2 || st.Failed != 1 || st.Completed != 1 || st.Dropped != 0 {
					t.Errorf("got %+v and %+v, %v, %v; want what was counted, of which limits count pages", q, st, err, errQueue)
				}
				if _, err := f.Lookup(t.Context(), frontier.Link{URL: "http://a.example/post"}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("without the discriminator: got %v; want %v", err, store.ErrNotFound)
				}
			})
		})
	}
}

// TestMigrateRefused: what cannot be taken along is counted, and nothing is made; with --drop-keys
// it is left out.
func TestMigrateRefused(t *testing.T) {
	dir := t.TempDir()
	db, to := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	toMigrate(t, db)
	onStore(t, db, "qiita", func(f *frontier.Frontier) {
		if _, err := f.See(t.Context(), []frontier.Link{{URL: "http://a.example/seen"}, {URL: "http://b.example/seen"}}); err != nil {
			t.Fatal(err)
		}
	})
	absent := func(name string) {
		t.Helper()
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v; want that it is not there", name, err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--profile scrapy", statusFailed, "got 2 keys without the text of a URL, and 0 URLs"},
		{"--profile qiita", statusMisuse, "nothing to migrate"},
		{"", statusMisuse, "nothing to migrate"},
		{"--profile nonesuch", statusMisuse, "nonesuch"},
	} {
		status, out, errOut := runWhole(t, append([]string{"migrate", "--db", db, "--to", to}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: got status %d, %s%s; want %d and %s", c.args, status, out, errOut, c.status, c.want)
		}
		absent(to)
		absent(to + ".partial")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status := run(ctx, []string{"migrate", "--db", db, "--to", to, "--profile", "scrapy", "--drop-keys"}, strings.NewReader(""), new(strings.Builder), new(strings.Builder)); status == statusOK {
		t.Error("a migration that was ended succeeded")
	}
	absent(to)
	absent(to + ".partial")
	if err := os.MkdirAll(filepath.Join(to+".partial", "runs"), 0o750); err != nil {
		t.Fatal(err)
	}
	_, _, errOut := runWhole(t, "migrate", "--db", db, "--to", to, "--profile", "scrapy", "--drop-keys")
	if !strings.Contains(errOut, "2 keys without a text and 0 URLs") {
		t.Errorf("got %s; want 2 keys left out", errOut)
	}
	if got := mustRun(t, "stats", "--db", to, "--crawl", "*"); !strings.Contains(got, fmt.Sprintf("%15s  seen", "7")) {
		t.Errorf("got %s; want 7 keys", got)
	}
	absent(to + ".partial")
	if status, _, errOut := runWhole(t, "migrate", "--db", db, "--to", to, "--profile", "scrapy", "--drop-keys"); status != statusMisuse || !strings.Contains(errOut, "not empty") {
		t.Errorf("onto a store: got status %d, %s; want it refused", status, errOut)
	}
}

// TestMigrateUnicode takes a store with an internationalised host to the Unicode version of this
// program, without a word about the profile.
func TestMigrateUnicode(t *testing.T) {
	dir := t.TempDir()
	db, to := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	s, err := pebblestore.Open(db, pebblestore.Options{KeepURLs: true})
	if err != nil {
		t.Fatal(err)
	}
	id := store.IdentityOf(canon.Qiita())
	id.Unicode = "1.0.0"
	link := frontier.Link{URL: "http://b\u00fccher.example/"}
	items := []store.Item{{Key: store.Key{1}, Queue: "b\u00fccher.example", URL: link.URL, UnicodeHost: true}}
	err = s.Prepare(t.Context(), store.Terms{Identity: id})
	if err == nil {
		_, err = s.Add(t.Context(), "", items, store.AddOptions{})
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	status, _, errOut := runWhole(t, "serve", "--db", db, "--check")
	if status == statusOK || !strings.Contains(errOut, "firstseen migrate --db") {
		t.Errorf("got status %d, %s; want it refused with the command", status, errOut)
	}
	mustRun(t, "migrate", "--db", db, "--to", to)
	onStore(t, to, "qiita", func(f *frontier.Frontier) { wantKnown(t, f, link, store.Queued) })
}

// TestMigrateLists gives a store newer lists: its URLs merge by them.
func TestMigrateLists(t *testing.T) {
	db, to := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "new")
	onStore(t, db, "qiita:+strip-index,lists=1", func(f *frontier.Frontier) {
		for _, url := range []string{"http://a.example/index.php5", "http://a.example/", "http://a.example/x"} {
			if r, err := f.Add(t.Context(), url); err != nil || r.Status != frontier.StatusNew {
				t.Fatalf("%s: got %v, %v; want it new", url, r.Status, err)
			}
		}
	})
	var out strings.Builder
	if status := run(t.Context(), []string{"migrate", "--db", db, "--to", to, "--rules", "+strip-index"}, strings.NewReader(""), &out, new(strings.Builder)); status != statusOK || strings.Count(out.String(), "merge\t") != 1 {
		t.Fatalf("got status %d, %q; want one URL that merges", status, out.String())
	}
	onStore(t, to, "qiita:+strip-index", func(f *frontier.Frontier) {
		if got := f.Profile("*").String(); got != "qiita:+strip-index,lists=2" {
			t.Errorf("got profile %s; want version 2 of the lists", got)
		}
	})
}
