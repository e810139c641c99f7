package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// consumers are crawlers in several languages. Each works on a crawl of the daemon at an address
// until the crawl has nothing more to fetch. The first ones ask for a page only while no page of
// its host is in flight (the default of the Go client). The later ones lease one page at a time.
var consumers = []struct {
	name     string
	variable string // of install.sh; "" for one that every machine can run
	run      func(ctx context.Context, program, daemon, crawl, seed string) error
}{
	{"go client", "", crawlByClient},
	{"colly", "FIRSTSEEN_COLLY", func(ctx context.Context, program, daemon, crawl, seed string) error {
		return command(ctx, nil, program, "-daemon", strings.TrimPrefix(daemon, "http://"), "-crawl", crawl, seed)
	}},
	{"crawlee", "FIRSTSEEN_CRAWLEE", func(ctx context.Context, script, daemon, crawl, seed string) error {
		return command(ctx, []string{"FIRSTSEEN=" + daemon, "FIRSTSEEN_CRAWL=" + crawl}, os.Getenv("FIRSTSEEN_NODE"), script, seed)
	}},
	{"scrapy", "FIRSTSEEN_SCRAPY", func(ctx context.Context, scrapy, daemon, crawl, seed string) error {
		return command(ctx, nil, scrapy, "runspider", "python/spider.py", "-a", "seed="+seed, "-s", "FIRSTSEEN_URL="+daemon, "-s", "FIRSTSEEN_CRAWL="+crawl,
			"-s", "SCHEDULER=firstseen_scrapy.Scheduler", "-s", "FIRSTSEEN_PREFETCH=4", "-s", "LOG_LEVEL=ERROR", "-s", "TELNETCONSOLE_ENABLED=False")
	}},
	{"python", "FIRSTSEEN_PYTHON", func(ctx context.Context, python, daemon, crawl, seed string) error {
		return command(ctx, []string{"FIRSTSEEN=" + daemon, "FIRSTSEEN_CRAWL=" + crawl}, python, "../../../../examples/python/crawl.py", seed)
	}},
	{"node", "FIRSTSEEN_NODE", func(ctx context.Context, node, daemon, crawl, seed string) error {
		return command(ctx, []string{"FIRSTSEEN=" + daemon, "FIRSTSEEN_CRAWL=" + crawl}, node, "../../../../examples/node/crawl.mjs", seed)
	}},
}

func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// TestTwoCrawlsOnOneDaemon runs every consumer that can run here in two crawls of one daemon, all
// at once. Both crawls are of the same host, each of a site of its own there; a page of either
// must be fetched once. What each consumer leased is read off its own way to the daemon.
func TestTwoCrawlsOnOneDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a dozen crawlers")
	}
	daemon, f, _ := serveFast(t)
	web := newShelves(t)
	gate := newGate(daemon.HTTPAddr())
	ctx := hang.Context(t)
	var wg sync.WaitGroup
	var missing []string
	for _, c := range consumers {
		program := os.Getenv(c.variable)
		if c.variable != "" && program == "" {
			missing = append(missing, c.variable)
			continue
		}
		for _, crawl := range shelfNames {
			addr, ended := gate.open(t, c.name, crawl)
			seed := web.URL + "/" + crawl + "/" + strings.ReplaceAll(c.name, " ", "-")
			wg.Go(func() {
				defer ended()
				if err := c.run(ctx, program, addr, crawl, seed); err != nil {
					t.Errorf("%s in crawl %s: %v", c.name, crawl, err)
				}
			})
		}
	}
	gate.start()
	wg.Wait()
	gate.check(t)
	web.check(t, len(consumers)-len(missing))
	for _, crawl := range shelfNames {
		if s, err := f.Stats(t.Context(), crawl); err != nil || s.Held != 0 || int(s.Completed) != len(web.log)/2 {
			t.Errorf("crawl %s: got %+v, %v; want %d pages completed, and none left", crawl, s, err, len(web.log)/2)
		}
	}
	if len(missing) > 0 && !t.Failed() {
		t.Skipf("passed without the consumers that need %s (make test-interop prints why they cannot run)", missing)
	}
}

// crawlByClient is a crawler on the Go client.
func crawlByClient(ctx context.Context, _, daemon, crawl, seed string) error {
	c, err := client.Open(ctx, client.Options{Addr: strings.TrimPrefix(daemon, "http://"), Crawl: crawl})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Add(ctx, seed); err != nil {
		return err
	}
	for lease, err := range c.Leases(ctx) {
		if err != nil {
			return err
		}
		links, err := linksOf(ctx, lease.URL)
		if err != nil {
			return err
		}
		if _, err := c.AddBatch(ctx, frontier.Links(lease, links...)); err != nil {
			return err
		}
		if err := c.Done(ctx, lease); err != nil {
			return err
		}
	}
	return nil
}

var href = regexp.MustCompile(`href="([^"]*)"`)

func linksOf(ctx context.Context, page string) (links []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	for _, m := range href.FindAllSubmatch(body, -1) {
		links = append(links, string(m[1]))
	}
	return links, nil
}

// shelves are two sites on one host: /red/… and /blue/…, of shelfPages numbered pages and a page
// for each consumer to begin with. Pages link to others of their site in three variants each.
type shelves struct {
	*httptest.Server
	mu  sync.Mutex
	log map[string]int
}

const shelfPages = 60

var shelfNames = []string{"red", "blue"}

func newShelves(t *testing.T) *shelves {
	s := &shelves{log: make(map[string]int)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *shelves) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shelf, page, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if shelf == "robots.txt" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.log[shelf+"/"+page]++
	s.mu.Unlock()
	time.Sleep(50 * time.Millisecond) // so that several have one in flight
	var n int
	_, _ = fmt.Sscan(page, &n) // a page to begin with counts as 0
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	for _, next := range []int{3*n + 1, 3*n + 2, 3*n + 3} {
		next %= shelfPages
		fmt.Fprintf(w, `<a href="/%s/%d">1</a> <a href="/%s/./%d#top">2</a> <a href="?#x">3</a> <a href="HTTP://%s/%s/%d?">4</a>`, shelf, next, shelf, next, r.Host, shelf, next)
	}
}

// check checks that the consumers fetched each page of both sites once.
func (s *shelves) check(t *testing.T, consumers int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for page, n := range s.log {
		if n != 1 {
			t.Errorf("%s was fetched %d times; want once", page, n)
		}
	}
	if want := len(shelfNames) * (shelfPages + consumers); len(s.log) != want {
		t.Errorf("%d pages were fetched; want %d", len(s.log), want)
	}
}

// gate assigns each consumer an address of its own for one daemon, and reads the daemon's answers
// there. It delays all leases until every consumer has asked for some, and then forwards the
// first requests in order, so that each consumer finds URLs.
type gate struct {
	daemon *url.URL
	all    []*way
	ready  sync.WaitGroup
}

// way is that of one consumer.
type way struct {
	name, crawl string
	once        sync.Once
	turn        chan struct{} // closed when the first request for leases may pass
	passed      chan struct{} // closed when it has been answered
	mu          sync.Mutex
	got         map[string]int // leases by crawl
	bad         []string
}

func newGate(addr string) *gate {
	return &gate{daemon: &url.URL{Scheme: "http", Host: addr}}
}

// open returns the address of a consumer, and what to call when it has ended.
func (g *gate) open(t *testing.T, name, crawl string) (addr string, ended func()) {
	w := &way{name: name, crawl: crawl, turn: make(chan struct{}), passed: make(chan struct{}), got: make(map[string]int)}
	g.all = append(g.all, w)
	g.ready.Add(1)
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(g.daemon) },
		FlushInterval:  -1,
		ModifyResponse: w.read,
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/lease" {
			proxy.ServeHTTP(rw, r)
			return
		}
		first := false
		w.once.Do(func() { first = true })
		if first {
			g.ready.Done()
			defer close(w.passed)
		}
		select {
		case <-w.turn:
			proxy.ServeHTTP(rw, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() {
		w.once.Do(func() { // it ended without asking
			g.ready.Done()
			close(w.passed)
		})
	}
}

// start forwards the first requests of the consumers in the order of their list. It skips
// consumers that ended without asking.
func (g *gate) start() {
	g.ready.Wait()
	for _, w := range g.all {
		close(w.turn)
		<-w.passed
	}
}

// read notes which leases an answer has.
func (w *way) read(r *http.Response) error {
	if r.Request.URL.Path != "/v1/lease" {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	w.mu.Lock()
	defer w.mu.Unlock()
	var answer struct {
		Leases []struct{ Crawl, URL string }
	}
	if err := json.Unmarshal(body, &answer); err != nil || r.StatusCode != http.StatusOK {
		w.bad = append(w.bad, string(body))
		return nil
	}
	for _, lease := range answer.Leases {
		w.got[lease.Crawl]++
		if !strings.Contains(lease.URL, "/"+w.crawl+"/") {
			w.bad = append(w.bad, lease.URL)
		}
	}
	return nil
}

// check checks that each consumer was handed pages of its own crawl, and no others.
func (g *gate) check(t *testing.T) {
	t.Helper()
	for _, w := range g.all {
		w.mu.Lock()
		if w.got[w.crawl] == 0 || len(w.got) != 1 || len(w.bad) > 0 {
			t.Errorf("%s in crawl %s got leases of %v, and %q; want some of its crawl, and no others", w.name, w.crawl, w.got, w.bad)
		}
		t.Logf("%s: %v", w.name, w.got)
		w.mu.Unlock()
	}
}
