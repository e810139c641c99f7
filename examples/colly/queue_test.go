package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

const threads = 4

// TestMain is also the crawler that TestQueueResumesAfterKill kills.
func TestMain(m *testing.M) {
	if os.Getenv("CRAWL_SITE") == "" {
		os.Exit(m.Run())
	}
	if err := crawlByQueue(os.Getenv("CRAWL_SITE"), os.Getenv("CRAWL_DB")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// crawlByQueue is a crawler with a colly queue, as its users write it.
func crawlByQueue(site, dir string) (err error) {
	// The next crawler waits for the leases of the killed one; a disk that takes seconds must not end one.
	f, closeAll, err := openOn(dir, frontier.Options{Delay: -1, MaxInFlight: 2 * threads, Lease: 10 * time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	c := colly.NewCollector(colly.DisallowedDomains("elsewhere.example"))
	s := NewQueue(f, c)
	q, err := queue.New(threads, s)
	if err != nil {
		return err
	}
	c.OnRequest(func(r *colly.Request) {
		if r.URL.Path == "/unwanted" {
			r.Abort()
		}
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		r, failed := e.Request.New("GET", e.Request.AbsoluteURL(e.Attr("href")), nil)
		if failed == nil {
			failed = q.AddRequest(r)
		}
		err = errors.Join(err, failed)
	})
	if err := q.AddURL(site + "/0"); err != nil {
		return err
	}
	return errors.Join(q.Run(c), s.Close(), err)
}

// tree is a site of pages that link to each other in several spellings. It
// stops answering when it has served as many pages as hold says, until released.
type tree struct {
	pages int
	hold  int

	mu       sync.Mutex
	log      []string // the access log
	held     []string
	allHeld  chan struct{}
	released chan struct{}
}

func (s *tree) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, r.URL.Path)
	wait := s.hold > 0 && len(s.log) > s.hold
	if wait {
		if s.held = append(s.held, r.URL.Path); len(s.held) == threads {
			close(s.allHeld)
		}
	}
	s.mu.Unlock()
	if wait {
		<-s.released
	}
	s.answer(w, r)
}

func (s *tree) answer(w http.ResponseWriter, r *http.Request) {
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= s.pages {
		http.NotFound(w, r)
		return
	}
	if n%7 == 3 && r.URL.RawQuery == "" {
		http.Redirect(w, r, fmt.Sprintf("/%d?moved", n), http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	for _, to := range []int{2*n + 1, 2*n + 2, n / 2} {
		fmt.Fprintf(w, `<a href="/%d">1</a> <a href="/./%d#again">2</a>`, to, to)
	}
	fmt.Fprint(w, `<a href="/unwanted">3</a> <a href="http://elsewhere.example/">4</a>`)
}

func (s *tree) times(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.log {
		if p == path {
			n++
		}
	}
	return n
}

func crawler(t *testing.T, site, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "CRAWL_SITE="+site, "CRAWL_DB="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestQueueResumesAfterKill kills a crawler, as kill -9 does, while each of its
// threads waits for a page. The next one fetches those again, and the rest once.
func TestQueueResumesAfterKill(t *testing.T) {
	s := &tree{pages: 60, hold: 25, allHeld: make(chan struct{}), released: make(chan struct{})}
	server := httptest.NewServer(s)
	defer server.Close()
	dir := t.TempDir()
	first := crawler(t, server.URL, dir)
	<-s.allHeld
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // its error is that it was killed
	s.mu.Lock()
	s.hold = 0
	inFlight := slices.Clone(s.held)
	s.mu.Unlock()
	close(s.released)
	if err := crawler(t, server.URL, dir).Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("in flight at the kill: %v", inFlight)
	for n := range s.pages {
		path := fmt.Sprintf("/%d", n)
		want := 1
		if n%7 == 3 {
			want = 2 // a redirect to another page of this path
		}
		got := s.times(path)
		if got < want || got > want+1 || got > want && !slices.Contains(inFlight, path) {
			t.Errorf("%s was fetched %d times; want %d, and once more only if it was in flight", path, got, want)
		}
	}
	if n := s.times("/unwanted"); n != 0 {
		t.Errorf("an aborted request was made %d times", n)
	}
}

// TestQueueRedirects posts forms that lead elsewhere: after 302 and 303 a page is fetched, after 307 the
// form is posted again. Each target is fetched once, with the context of its source.
func TestQueueRedirects(t *testing.T) {
	var mu sync.Mutex
	var log []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		log = append(log, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body)))
		mu.Unlock()
		switch r.URL.Path {
		case "/see-other":
			http.Redirect(w, r, "/page", http.StatusSeeOther)
		case "/temporary":
			http.Redirect(w, r, "/form", http.StatusTemporaryRedirect)
		case "/itself":
			if r.Method == http.MethodPost {
				http.Redirect(w, r, "/itself", http.StatusFound)
			}
		case "/moved":
			http.Redirect(w, r, "/target", http.StatusMovedPermanently)
		case "/wall":
			if _, err := r.Cookie("seen"); err != nil {
				http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
				http.Redirect(w, r, "/wall", http.StatusFound)
			}
		}
	}))
	defer server.Close()
	f, closeAll, err := openOn(t.TempDir(), frontier.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	c := colly.NewCollector()
	s := NewQueue(f, c)
	q, err := queue.New(1, s)
	if err != nil {
		t.Fatal(err)
	}
	contexts := map[string]string{}
	c.OnScraped(func(r *colly.Response) { contexts[r.Request.URL.Path] = r.Ctx.Get("from") })
	for _, path := range []string{"/see-other", "/temporary", "/itself", "/moved", "/wall"} {
		u, _ := url.Parse(server.URL + path)
		r := &colly.Request{Method: http.MethodPost, URL: u, Body: strings.NewReader("n=1"), Ctx: colly.NewContext()}
		if path == "/moved" || path == "/wall" {
			r.Method, r.Body = http.MethodGet, nil
		}
		r.Ctx.Put("from", path)
		if err := q.AddRequest(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(q.Run(c), s.Close(), closeAll()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(log)
	want := []string{"GET /itself", "GET /moved", "GET /page", "GET /target", "GET /wall", "GET /wall", "POST /form n=1", "POST /itself n=1", "POST /see-other n=1", "POST /temporary n=1"}
	if !slices.Equal(log, want) {
		t.Errorf("fetched %q; want %q", log, want)
	}
	from := map[string]string{"/page": "/see-other", "/form": "/temporary", "/itself": "/itself", "/target": "/moved", "/wall": "/wall"}
	if !maps.Equal(contexts, from) {
		t.Errorf("pages come from %v; want %v", contexts, from)
	}
}

// TestQueueEndsAtALimit: colly's Run would wait for ever for what only an operator can hand out.
func TestQueueEndsAtALimit(t *testing.T) {
	f, closeAll, err := openOn("", frontier.Options{Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeAll() }()
	limit := int64(1)
	if err := f.Configure(t.Context(), store.DefaultCrawl, "", store.QueueChange{Limit: &limit}); err != nil {
		t.Fatal(err)
	}
	q := NewQueue(f, colly.NewCollector())
	for _, page := range []string{"1", "2"} {
		if err := q.AddRequest([]byte(`{"URL":"http://a.example/` + page + `","Method":"GET"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := q.QueueSize(); n != 2 || err != nil {
		t.Errorf("got a size of %d, %v; want 2", n, err)
	}
	if err := f.Done(t.Context(), q.next); err != nil {
		t.Fatal(err)
	}
	q.next = nil
	if n, err := q.QueueSize(); n != 0 || err != nil {
		t.Errorf("got a size of %d, %v at the limit; want 0", n, err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// TestBusyHost: until when a host asks to be left alone, in seconds or by a date; and what was leased ahead of it goes back.
func TestBusyHost(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for text, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0": 0, "-1": 0, "1.5": 0, "soon": 0, "999999999": 24 * time.Hour,
		in(time.Hour): time.Hour, in(-time.Hour): 0, in(1000 * time.Hour): 24 * time.Hour,
	} {
		r := &colly.Response{StatusCode: http.StatusTooManyRequests, Headers: &http.Header{"Retry-After": {text}}}
		began := time.Now()
		s := settlementOf(nil, r, errors.New("busy"))
		off := s.BlockQueue.Sub(began) - want
		if s.BlockQueue.IsZero() != (want == 0) || !s.At.Equal(s.BlockQueue) || want != 0 && (off < -time.Second || off > time.Minute) {
			t.Errorf("%q: got until %v, %v; want in %v", text, s.At, s.BlockQueue, want)
		}
	}
	f := open(t)
	c := colly.NewCollector()
	q := NewQueue(f, c)
	for n := range 2 {
		if err := q.AddRequest(fmt.Appendf(nil, `{"URL":"http://a.example/%d","Method":"GET"}`, n)); err != nil {
			t.Fatal(err)
		}
	}
	leases, _, err := f.Lease(t.Context(), frontier.LeaseRequest{Max: 2, MaxInFlight: 2, MaxPerQueue: 2})
	if err != nil || len(leases) != 2 {
		t.Fatalf("got %d leases, %v; want 2", len(leases), err)
	}
	q.out["1"], q.next = &handed{lease: leases[0], started: true, id: 7}, leases[1]
	ctx := colly.NewContext()
	ctx.Put(leaseName, "1")
	u, _ := url.Parse(leases[0].URL)
	q.end(&colly.Response{StatusCode: 503, Headers: &http.Header{"Retry-After": {"3600"}}, Request: &colly.Request{ID: 7, URL: u, Ctx: ctx}}, errors.New("busy"))
	if s, err := f.Stats(t.Context(), ""); err != nil || s.Held != 2 || s.InFlight != 0 {
		t.Errorf("got %+v, %v; want both URLs back in the queue", s, err)
	}
	if n, idle, err := f.Lease(t.Context(), frontier.LeaseRequest{}); err != nil || len(n) != 0 || idle.State != store.Blocked {
		t.Errorf("got %d leases, %v, %v; want the queue blocked", len(n), idle, err)
	}
}
