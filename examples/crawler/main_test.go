package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is the command itself if the variable says so, so that a test can kill it.
func TestMain(m *testing.M) {
	if seed := os.Getenv("CRAWLER_SEED"); seed != "" {
		if err := run(context.Background(), testOptions(os.Getenv("CRAWLER_DB")), []string{seed}, log.New(os.Stdout, "", 0)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func testOptions(dir string) options {
	return options{dir: dir, pass: "monday", agent: "test", workers: 8, delay: time.Millisecond, lease: time.Minute}
}

// web is a site of numbered pages with links in several spellings, and everything a site can have. It logs its requests.
type web struct {
	*httptest.Server
	pages int
	mu    sync.Mutex
	log   map[string]int
	all   int
}

func newWeb(t *testing.T, pages int) *web {
	w := &web{pages: pages, log: make(map[string]int)}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.log[r.URL.Path]++
	w.all++
	times := w.log[r.URL.Path]
	w.mu.Unlock()
	var n int
	switch r.URL.Path {
	case "/robots.txt":
		fmt.Fprint(rw, "User-agent: *\nDisallow: /private\nCrawl-delay: 0.002\n")
		return
	case "/gone":
		http.NotFound(rw, r)
		return
	case "/busy":
		if times == 1 {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
			return
		}
	case "//twice":
		rw.Header().Set("Set-Cookie", "seen=1; Path=/")
		rw.Header().Set("Location", "/twice")
		rw.WriteHeader(http.StatusFound)
		return
	case "/twice":
		if _, err := r.Cookie("seen"); err != nil {
			rw.Header().Set("Location", w.URL+"//twice")
			rw.WriteHeader(http.StatusFound)
			return
		}
	case "/old":
		http.Redirect(rw, r, "/p/1", http.StatusMovedPermanently)
		return
	case "/away":
		http.Redirect(rw, r, strings.Replace(w.URL, "127.0.0.1", "localhost", 1)+"/elsewhere", http.StatusFound)
		return
	case "/astray": // by a Location that net/http can't parse
		rw.Header().Set("Location", strings.Replace(w.URL, "127.0.0.1", "localhost", 1)+"/50%-off")
		rw.WriteHeader(http.StatusFound)
		return
	default:
		_, _ = fmt.Sscanf(r.URL.Path, "/p/%d", &n)
	}
	rw.Header().Set("Content-Type", "text/html")
	for k := 3*n + 1; k < min(3*n+4, w.pages); k++ {
		fmt.Fprintf(rw, `<a href="/p/%d">a</a> <a href='/./p/%d?#top'>b</a> <a href="HTTP://%s/p/%%3%d">c</a>`, k, k, r.Host, k%10)
	}
	if n == 0 {
		fmt.Fprintf(rw, `<a href="/private/1">d</a> <a href="/gone">e</a> <a href="/busy">f</a> <a href="http://%s//twice">g</a> <a href="/old">h</a> <a href="/away">i</a> <a href="/astray">m</a>`, r.Host)
		for i := range 6 { // none is requested, and the host is not blamed
			fmt.Fprintf(rw, `<a href="ftp://%s/f%d">j</a>`, r.Host, i)
		}
		_, _ = io.WriteString(rw, `<a href="/100%-sale">k</a><a href='http:\b\c'>l</a>`)
	}
}

// report returns the paths that were fetched, and those that were more often than once.
func (w *web) report() (paths, again []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, n := range w.log {
		if paths = append(paths, path); n > 1 && path != "/robots.txt" && path != "/busy" {
			again = append(again, path)
		}
	}
	slices.Sort(paths)
	return paths, again
}

func crawl(t *testing.T, ctx context.Context, o options, w *web) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(ctx, o, []string{w.URL + "/p/0"}, log.New(&out, "", 0)); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

// TestPasses: a pass ends, its repetition has nothing to do, and the next one fetches everything again.
func TestPasses(t *testing.T) {
	w := newWeb(t, 10)
	o := testOptions(t.TempDir())
	want := []string{"//twice", "/100%-sale", "/astray", "/away", "/b/c", "/busy", "/gone", "/old", "/p/0", "/p/1", "/p/2", "/p/3", "/p/4", "/p/5", "/p/6", "/p/7", "/p/8", "/p/9", "/robots.txt", "/twice"}
	for _, pass := range []string{"monday", "monday", "tuesday"} {
		o.pass = pass
		before := w.all
		out := crawl(t, t.Context(), o, w)
		paths, again := w.report()
		if !slices.Equal(paths, want) || pass == "monday" && len(again) > 0 {
			t.Errorf("%s: got %v, and %v again; want %v", pass, paths, again, want)
		}
		if !strings.Contains(out, "pass "+pass+" is finished") {
			t.Errorf("%s: got %s; want it to say that the pass is finished", pass, out)
		}
		if n := w.all - before; before > 0 && (pass == "monday") != (n == 0) {
			t.Errorf("%s: got %d requests", pass, n)
		}
	}
}

// TestInterrupted: the run says what is left, and the next one begins with it.
func TestInterrupted(t *testing.T) {
	w := newWeb(t, 60)
	o := testOptions(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	r, pipe := io.Pipe()
	go func() {
		lines := bufio.NewScanner(r)
		for range 20 {
			lines.Scan()
		}
		cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	var out bytes.Buffer
	if err := run(ctx, o, []string{w.URL + "/p/0"}, log.New(io.MultiWriter(&out, pipe), "", 0)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "URLs wait; run it again to go on") {
		t.Errorf("got %s; want it to say what is left", &out)
	}
	if out := crawl(t, t.Context(), o, w); !strings.Contains(out, "continuing pass monday") || !strings.Contains(out, "is finished") {
		t.Errorf("got %s; want the pass continued and finished", out)
	}
	if paths, _ := w.report(); len(paths) != 60+10 {
		t.Errorf("got %d paths; want 70", len(paths))
	}
}

// TestKilled: after kill -9 the next run fetches the rest, and again only what was in flight.
func TestKilled(t *testing.T) {
	w := newWeb(t, 60)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CRAWLER_SEED="+w.URL+"/p/0", "CRAWLER_DB="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 15 {
		lines.Scan()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	crawl(t, t.Context(), testOptions(dir), w)
	paths, again := w.report()
	if len(paths) != 60+10 || len(again) > 1 {
		t.Errorf("got %d paths, and %v again; want 70, and at most the page that was in flight", len(paths), again)
	}
}
