package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store/captures"
)

// logged is a log that a test reads.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// TestHandlerPanics logs them as errors with the route, and breaks the answer off.
func TestHandlerPanics(t *testing.T) {
	var log logged
	s := newHTTPAPI(newMetrics(newService(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, guard{})), false)
	web := httptest.NewUnstartedServer(s.handled("GET /v1/broken", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half") // is read
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		panic("a bug")
	}))
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	web.Start()
	defer web.Close()
	for path, want := range map[string]int{"/abort": 0, "/": 1} {
		resp, err := http.Get(web.URL + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close() // it is broken
		}
		if err == nil {
			t.Errorf("%s: got a whole answer", path)
		}
		text := log.String()
		if n := strings.Count(text, `level=ERROR msg="request panicked" route="GET /v1/broken" panic="a bug"`); n != want {
			t.Errorf("%s: got %d panics logged; want %d:\n%s", path, n, want, text)
		}
		log.buf.Reset()
	}
	hang.Until(t, "the handlers have returned", func() bool { return s.handlers.Load() == 0 })
}

// TestServeWaitsForHandlers ends a server while a handler is busy for longer than the drain: Serve
// returns once the handler has.
func TestServeWaitsForHandlers(t *testing.T) {
	f, _ := openFrontier(t, canon.Qiita(), newClock())
	s, err := New(t.Context(), f, Config{GRPCAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", Drain: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	busy, release := make(chan struct{}), make(chan struct{})
	s.http.Handler = s.web.handled("GET /", func(http.ResponseWriter, *http.Request) {
		close(busy)
		<-release
	})
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	go func() {
		if resp, err := http.Get("http://" + s.HTTPAddr()); err == nil {
			_ = resp.Body.Close() // is cut off
		}
	}()
	<-busy
	stop()
	select {
	case <-served:
		t.Error("Serve returned while a handler was running")
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestCapturesBrokenOff aborts GET /v1/captures, and ends the server and closes the sample after it.
func TestCapturesBrokenOff(t *testing.T) {
	sample, err := captures.Open(t.TempDir(), captures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]captures.Capture, 8000) // 20 MB, more than is in flight
	for i := range all {
		all[i] = captures.Capture{URL: "http://a.example/" + strings.Repeat("x", 1+i%3000), Time: time.Unix(int64(i), 0), Digest: strings.Repeat("d", 1000)}
	}
	if err := sample.Add(all...); err != nil {
		t.Fatal(err)
	}
	r := start(t, canon.Qiita(), Config{Evidence: evidence.New(evidence.Options{Captures: sample})})
	for range 5 {
		resp, err := http.Get(r.url("/v1/captures"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 100_000); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close() // before its end
	}
	if err := errors.Join(r.stop(), sample.Close()); err != nil {
		t.Error(err)
	}
}

// TestCapturesThatCannotBeOpened checks that the daemon serves, and reports the missing sample on request.
func TestCapturesThatCannotBeOpened(t *testing.T) {
	r := start(t, canon.Qiita(), Config{Evidence: evidence.New(evidence.Options{CapturesError: errors.New("cannot open captures in x: input/output error")})})
	for _, path := range []string{"/v1/captures"} {
		if code, body := r.ask(t, "GET", path, ""); code != "503" || !strings.Contains(body, "input/output error") {
			t.Errorf("%s: got %s %s; want 503 and why", path, code, body)
		}
	}
	if _, metrics := r.ask(t, "GET", "/metrics", ""); !strings.Contains(metrics, "\nfirstseen_captures_failed 1\n") {
		t.Error("/metrics does not have firstseen_captures_failed 1")
	}
	if code, body := r.ask(t, "POST", "/v1/urls", `{"url":"http://a.example/"}`); code != "200" || !strings.Contains(body, `"new"`) {
		t.Errorf("got %s %s; want the URL taken", code, body)
	}
}
