package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store/memstore"
)

// scripts are the crawlers of the examples that take URLs as arguments and the rest from the
// environment, the variable that says where each can run, and the lines they may have.
var scripts = map[string]struct {
	variable string
	command  func(value string) []string
	lines    int
	again    int // pages that may be fetched again after a kill, beside the one in flight
}{
	"python":  {"FIRSTSEEN_PYTHON", func(python string) []string { return []string{python, "../../../../examples/python/crawl.py"} }, 125, 0},
	"node":    {"FIRSTSEEN_NODE", func(node string) []string { return []string{node, "../../../../examples/node/crawl.mjs"} }, 125, 0},
	"crawlee": {"FIRSTSEEN_CRAWLEE", func(script string) []string { return []string{os.Getenv("FIRSTSEEN_NODE"), script} }, 100, 20},
}

// TestScripts crawls a site with each of the scripts.
func TestScripts(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			command := script.command(installed(t, script.variable))
			short(t, command[1], script.lines)
			crawlTwice(t, script.again, command...)
		})
	}
}

// TestCrawleeFrontier runs the tests of the request manager on a daemon without delays.
func TestCrawleeFrontier(t *testing.T) {
	node, script := installed(t, "FIRSTSEEN_NODE"), installed(t, "FIRSTSEEN_CRAWLEE")
	daemon, _, _ := serveFast(t)
	cmd := exec.CommandContext(t.Context(), node, "--test", "--test-timeout=300000")
	cmd.Dir, cmd.Env = filepath.Dir(script), append(os.Environ(), "FIRSTSEEN=http://"+daemon.HTTPAddr())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestScriptsMissAnswers runs the scripts against a daemon that answers too few lines, and
// against one that stores nothing: they must not end as if all were well.
func TestScriptsMissAnswers(t *testing.T) {
	for name, answer := range map[string]string{"none": "", "failed": `{"url":"","verdict":"failed","error":{"code":"unavailable","message":"not stored"}}`} {
		daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/urls" {
				fmt.Fprint(w, answer)
				return
			}
			fmt.Fprintln(w, `{"leases":[],"finished":true,"held":0}`)
		}))
		t.Cleanup(daemon.Close)
		for script, s := range scripts {
			t.Run(name+"/"+script, func(t *testing.T) {
				command := s.command(installed(t, s.variable))
				cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "http://a.example/")...)
				cmd.Env = append(os.Environ(), "FIRSTSEEN="+daemon.URL)
				if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "not all of 1 URLs were stored") {
					t.Errorf("got %v, %s; want it to fail", err, out)
				}
			})
		}
	}
}

// TestScriptsLeaveABusyHostAlone: what a host asks for by its Retry-After is passed on to the daemon.
func TestScriptsLeaveABusyHostAlone(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer site.Close()
	for script, s := range scripts {
		t.Run(script, func(t *testing.T) {
			command := s.command(installed(t, s.variable))
			var leased atomic.Bool
			done := make(chan string, 100)
			daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				const key = "00000000000000000000000000000001"
				switch r.URL.Path {
				case "/v1/urls":
					fmt.Fprintf(w, `{"url":"","verdict":"new","key":%q}`, key)
				case "/v1/done":
					body, _ := io.ReadAll(r.Body)
					done <- string(body)
					fmt.Fprintln(w, `{"answers":["ok"]}`)
				case "/v1/lease":
					var asked wire.LeaseRequest
					_ = json.NewDecoder(r.Body).Decode(&asked)
					if !leased.Swap(true) {
						expires := time.Now().Add(time.Duration(asked.LeaseSeconds * float64(time.Second)))
						fmt.Fprintf(w, `{"leases":[{"crawl":"DEFAULT","key":%q,"token":"1","attempts":1,"url":%q,"queue":"a","expires":%q}]}`,
							key, site.URL+"/", expires.Format(time.RFC3339Nano))
						return
					}
					fallthrough
				default:
					fmt.Fprintln(w, `{"leases":[],"queues":[],"finished":true,"state":"finished","held":0,"fetched":0,"completed":0,"dropped":0}`)
				}
			}))
			defer daemon.Close()
			cmd := exec.CommandContext(hang.Context(t), command[0], append(command[1:], site.URL+"/")...)
			cmd.Env = append(os.Environ(), "FIRSTSEEN="+daemon.URL)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			close(done)
			for body := range done {
				var report struct{ Leases []wire.DoneLease }
				if err := json.Unmarshal([]byte(body), &report); err != nil {
					t.Fatal(err)
				}
				for _, l := range report.Leases {
					if wait := time.Until(l.BlockQueueUntil); wait > 50*time.Minute && wait <= time.Hour+5*time.Second && (l.Outcome == "retry" || l.Outcome == "defer") {
						return
					}
				}
				t.Log(body)
			}
			t.Error("the daemon was not told that the host is busy for an hour")
		})
	}
}

// short holds an example to its promise.
func short(t *testing.T, file string, lines int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > lines {
		t.Errorf("%s has %d lines; want at most %d", file, n, lines)
	}
}

// crawlTwice kills a crawler during a crawl. Two crawlers continue, started with the seed of another
// site. The access logs of both sites must show each page once. Only pages that the killed crawler
// had leased may come twice: at most allowed of them, and the page at which it was killed. A crawl
// after that has nothing to do. URLs of another crawl stay.
func crawlTwice(t *testing.T, allowed int, script ...string) {
	other := newSite("")
	defer other.Close()
	other.seed = strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/" // another host
	site := newSite(other.seed)
	defer site.Close()
	daemon, f, leasesRunOut := serveFast(t)
	if _, err := f.AddBatch(t.Context(), []frontier.Link{{URL: "http://foreign.example/", Crawl: "foreign"}}); err != nil {
		t.Fatal(err)
	}
	seed := site.URL + "/"
	crawl := func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, script[0], append(script[1:], seed)...)
		cmd.Env = append(os.Environ(), "FIRSTSEEN=http://"+daemon.HTTPAddr(), "FIRSTSEEN_CRAWL=mine", "CRAWLEE_PURGE_ON_START=0")
		return cmd
	}
	ctx := hang.Context(t)
	doomed, kill := context.WithCancel(ctx)
	site.atPage(10, kill)
	if out, err := crawl(doomed).CombinedOutput(); doomed.Err() == nil {
		t.Fatalf("the crawler ended before it was killed: %v\n%s", err, out)
	}
	leasesRunOut()
	seed = other.seed
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if out, err := crawl(ctx).CombinedOutput(); err != nil || !strings.Contains(string(out), "finished: ") {
				t.Errorf("%v\n%s; want the crawl finished, and said so", err, out)
			}
		})
	}
	wg.Wait()
	site.check(t, allowed)
	other.check(t, 0)
	before := site.requests() + other.requests()
	if out, err := crawl(ctx).CombinedOutput(); err != nil || site.requests()+other.requests() != before {
		t.Errorf("a crawl of what is known made %d requests, %v\n%s", site.requests()+other.requests()-before, err, out)
	}
	if s, err := f.Stats(t.Context(), "foreign"); err != nil || s.Held != 1 || s.InFlight != 0 {
		t.Errorf("got %+v, %v; want the URL of another crawl left alone", s, err)
	}
}

// serveFast is serve without a delay, with a clock that can be put forward so
// that leases run out.
func serveFast(t *testing.T) (s *server.Server, f *frontier.Frontier, leasesRunOut func()) {
	t.Helper()
	var ahead atomic.Int64
	st := memstore.New(memstore.Options{KeepURLs: true, Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	f, err := frontier.New(st, frontier.Options{Delay: -1, MaxInFlight: -1})
	if err != nil {
		t.Fatal(err)
	}
	s, err = server.New(t.Context(), f, server.Config{GRPCAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = s.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, f.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, f, func() { ahead.Add(int64(time.Hour)) }
}

// site is 40 pages that link to each other in several spellings, with redirects
// to other pages and to the page itself, which wants the cookie of the redirect, a page that is not there, and links and
// redirects to another site.
type site struct {
	*httptest.Server
	elsewhere string // "" for none
	seed      string
	mu        sync.Mutex
	log       map[string]int
	all       int
	at        int
	then      func()
}

const sitePages = 40

func newSite(elsewhere string) *site {
	s := &site{log: make(map[string]int), elsewhere: elsewhere}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.note(r.URL.Path) {
		s.then()
		<-r.Context().Done() // no answer: a crawler that dies late could settle it and continue
		return
	}
	var n int
	switch path := r.URL.Path; {
	case path == "/":
	case strings.HasPrefix(path, "/old"):
		http.Redirect(w, r, "/"+strings.TrimPrefix(path, "/old"), http.StatusMovedPermanently)
		return
	case path == "/away" && s.elsewhere != "":
		http.Redirect(w, r, s.elsewhere, http.StatusFound)
		return
	case path == "//twice":
		w.Header().Set("Set-Cookie", "seen=1; Path=/")
		w.Header().Set("Location", "/twice")
		w.WriteHeader(http.StatusFound)
		return
	case path == "/twice" && r.Header.Get("Cookie") != "seen=1":
		w.Header().Set("Location", "http://"+r.Host+"//twice")
		w.WriteHeader(http.StatusFound)
		return
	default:
		if _, err := fmt.Sscanf(path, "/%d", &n); (err != nil || n >= sitePages) && path != "/twice" {
			http.NotFound(w, r)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if n%10 == 0 { // a link whose line is too long must not hide those after it
		fmt.Fprintf(w, `<a href="/%s">0</a>`, strings.Repeat("x", 400_000))
	}
	if s.elsewhere != "" {
		fmt.Fprintf(w, `<a href="%s">away</a> <a href="/away">a way</a> <a href="http://[bad">no URL</a>`, s.elsewhere)
	}
	fmt.Fprintf(w, `<a href="/%d">1</a> <a href="/./%d?#again">2</a> <a href="/old%d">3</a> <a href="//%s/%%32">4</a>
		<a href="http://%s//twice">5</a> <a href="/missing">6</a> <a href="mailto:me@example.org">7</a> <a href="http://elsewhere.example/">8</a>`,
		2*n+1, 2*n+1, 2*n+2, r.Host, r.Host)
}

// note writes a request into the log, and reports whether the crawler is to be killed at it. That
// request was in flight, and does not count.
func (s *site) note(path string) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all++; s.all == s.at {
		return true
	}
	s.log[path]++
	return false
}

// atPage calls a function at the nth request, which gets no answer.
func (s *site) atPage(n int, f func()) { s.at, s.then = n, f }

func (s *site) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// check looks for pages that were never fetched, or too often.
func (s *site) check(t *testing.T, allowed int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 1; n < sitePages; n++ {
		if path := fmt.Sprintf("/%d", n); s.log[path] == 0 {
			t.Errorf("%s was never fetched", path)
		}
	}
	again := 0
	for _, n := range s.log {
		again += max(n-1, 0)
	}
	if again > allowed {
		t.Errorf("%d pages were fetched again; want at most %d: %v", again, allowed, s.log)
	}
	if s.log["//twice"] == 0 || s.log["/twice"] == 0 || s.log["/missing"] == 0 {
		t.Errorf("got %v; want the redirect followed, and what is missing asked for", s.log)
	}
}
