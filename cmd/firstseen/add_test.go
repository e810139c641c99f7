package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/wire"
)

// TestAddToDaemon adds files to a daemon, and leases what is queued: the first URLs are those of the highest
// priority, and each has what its file says. It adds a plain list by HTTP as well.
func TestAddToDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sitemap := write("sitemap.xml", `<urlset><url><loc>http://a.example/low</loc><priority>0.2</priority></url>
<url><loc>http://a.example/top</loc><lastmod>2026-11-01</lastmod><priority>1</priority></url></urlset>`)
	objects := write("pages.jsonl", `{"url":"http://a.example/json","rank":0.5,"level":3,"tags":["x","y"],"none":"null","info":{"title":"T"}}`+"\n")
	d := startDaemon(t, filepath.Join(dir, "db"))
	status, out, errOut := runWhole(t, "add", "--daemon", d.http, "--crawl", "shop", "--queue", "one",
		"--priority-field", "rank", "--depth-field", "level", "--meta-field", "tags,title=info.title,none", sitemap, objects)
	if status != statusOK || !strings.HasSuffix(out, "2 files, 3 records: 3 new, 0 duplicates\n") || errOut != "" {
		t.Fatalf("got status %d, %s%s; want 3 new", status, out, errOut)
	}
	resp, err := http.Post("http://"+d.http+"/v1/urls?crawl=shop&queue=one&priority=2&depth=4&brief", "text/plain; charset=utf-8",
		strings.NewReader("\ufeffhttp://a.example/plain\r\n\nhttp://a.example/\xff\n{\"url\":\"http://b.example/\"}\nno url"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || strings.Count(string(answer), `"verdict":"new"`) != 3 || strings.Count(string(answer), `"verdict":"refused"`) != 1 {
		t.Errorf("got %s, %v; want a verdict for each line that is not blank", answer, err)
	}
	var got []string
	for range 6 {
		body := `{"crawl":"shop","queue":"one","max":1,"delay_seconds":0,"max_in_flight":99}`
		resp, err := http.Post("http://"+d.http+"/v1/lease", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var leases wire.Leases
		err = json.NewDecoder(resp.Body).Decode(&leases)
		resp.Body.Close()
		if err != nil || len(leases.Leases) != 1 {
			t.Fatalf("got %+v, %v; want a lease", leases, err)
		}
		l := leases.Leases[0]
		got = append(got, fmt.Sprintf("%q %d %d %v", wire.TextOr(l.URL, l.URLBytes), l.Priority, l.Depth, l.Metadata))
	}
	want := []string{
		`"http://a.example/top" 6 0 map[lastmod:[2026-11-01]]`,
		`"http://a.example/json" 3 3 map[none:[null] tags:[x y] title:[T]]`,
		`"http://a.example/plain" 2 4 map[]`, `"http://a.example/\xff" 2 4 map[]`, `"http://b.example/" 2 4 map[]`,
		`"http://a.example/low" 1 0 map[]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for query, want := range map[string]string{"priority=8": "priority", "depth=-1": "depth"} {
		resp, err := http.Post("http://"+d.http+"/v1/urls?"+query, "text/plain", strings.NewReader("http://a.example/"))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %s, %s; want 400", query, resp.Status, text)
		}
	}
	if status, _, errOut := runWhole(t, "add", "--daemon", "127.0.0.1:1", sitemap); status != statusFailed || !strings.Contains(errOut, "is it running") {
		t.Errorf("got status %d, %s; want a hint", status, errOut)
	}
}

// TestAddGoesOn interrupts add between two lines of its input. What it counted is queued, and the next run queues the
// rest, and nothing twice.
func TestAddGoesOn(t *testing.T) {
	const lines = 20_000
	db, first := "", 0
	for wait := 100 * time.Millisecond; first == 0; wait *= 4 { // a busy machine may need longer for the first of them
		db = filepath.Join(t.TempDir(), "db")
		ctx, cancel := context.WithCancel(t.Context())
		in, feed := io.Pipe()
		go func() {
			for i := range lines {
				fmt.Fprintf(feed, "http://a.example/%d\n", i)
			}
			time.AfterFunc(wait, cancel) // the pipe stays open
		}()
		var out, errOut strings.Builder
		status := run(ctx, []string{"add", "--db", db, "-"}, in, &out, &errOut)
		cancel()
		if status != statusFailed || !strings.Contains(errOut.String(), "interrupted in -") {
			t.Fatalf("got status %d, %s%s; want an interruption", status, &out, &errOut)
		}
		if _, err := fmt.Sscanf(strings.NewReplacer(": list", "", ",", "").Replace(out.String()), "- %d records", &first); err != nil {
			t.Fatalf("got %s, %v; want a number of records", &out, err)
		}
	}
	var out, errOut strings.Builder
	var list strings.Builder
	for i := range lines {
		fmt.Fprintf(&list, "http://a.example/%d\n", i)
	}
	if status := run(t.Context(), []string{"add", "--db", db, "--json", "-"}, strings.NewReader(list.String()), &out, &errOut); status != statusOK {
		t.Fatalf("got status %d, %s", status, &errOut)
	}
	var f addedFile
	if err := json.Unmarshal([]byte(out.String()), &f); err != nil || f.Duplicates != int64(first) || f.New != int64(lines-first) {
		t.Errorf("got %+v, %v; want %d duplicates of %d", f, err, first, lines)
	}
}
