package server

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// clock is a clock that tests step.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// running is a server on loopback, over a store in memory.
type running struct {
	*Server
	clock *clock
	store store.Store
	stop  func() error // drains and waits
}

// openFrontier opens a frontier with a profile, on a store with its identity.
func openFrontier(t testing.TB, p *canon.Profile, c *clock, change ...func(*frontier.Options)) (*frontier.Frontier, store.Store) {
	t.Helper()
	st := memstore.New(memstore.Options{
		KeepURLs: true,
		Clock:    c.Now,
	})
	opt := frontier.Options{Profile: p}
	for _, f := range change {
		f(&opt)
	}
	f, err := frontier.New(st, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, st
}

// start runs a server until the test ends.
func start(t testing.TB, p *canon.Profile, cfg Config) *running {
	t.Helper()
	return startWith(t, p, cfg)
}

// startWith is start with a change to the frontier's options.
func startWith(t testing.TB, p *canon.Profile, cfg Config, change ...func(*frontier.Options)) *running {
	t.Helper()
	return startBefore(t, p, cfg, func(*Server) {}, change...)
}

// startBefore is startWith with a change to the server before it serves.
func startBefore(t testing.TB, p *canon.Profile, cfg Config, before func(*Server), change ...func(*frontier.Options)) *running {
	t.Helper()
	c := newClock()
	f, st := openFrontier(t, p, c, change...)
	cfg.GRPCAddr, cfg.HTTPAddr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg.Profile = func() *canon.Profile { return p }
	cfg.Drain, cfg.Exports = cmp.Or(cfg.Drain, hang.Limit), st
	s, err := New(t.Context(), f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	before(s)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return &running{Server: s, clock: c, store: st, stop: stop}
}

// client connects to a server in the clear.
func (r *running) client(t testing.TB, opts ...grpc.DialOption) frontierpb.URLFrontierClient {
	t.Helper()
	return frontierpb.NewURLFrontierClient(r.dial(t, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...))
}

func (r *running) dial(t testing.TB, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(r.GRPCAddr(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // a test may have closed it
	return conn
}

// url is the address of a path of the HTTP interface.
func (r *running) url(path string) string { return "http://" + r.HTTPAddr() + path }

func temp(t testing.TB, name string) string { return filepath.Join(t.TempDir(), name) }
