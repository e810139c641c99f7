package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// mortalStore is a store whose disk fails on request.
type mortalStore struct {
	store.Store
	dead atomic.Bool
}

func (s *mortalStore) err() error {
	if s.dead.Load() {
		return fmt.Errorf("%w: %w", store.ErrFailed, syscall.EIO)
	}
	return nil
}

func (s *mortalStore) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.Add(ctx, crawl, items, opt)
}

func (s *mortalStore) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	if err := s.err(); err != nil {
		return store.Taken{}, err
	}
	return s.Store.Take(ctx, req)
}

func (s *mortalStore) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	if err := s.err(); err != nil {
		return store.Stats{}, err
	}
	return s.Store.Stats(ctx, crawl)
}

// TestServeEndsWhenTheStoreFails fails the disk under an idle server, under one that adds, and
// under one whose client waits for a lease: health reports it, and Serve returns the error.
func TestServeEndsWhenTheStoreFails(t *testing.T) {
	for _, use := range []string{"idle", "add", "wait"} {
		t.Run(use, func(t *testing.T) {
			p := canon.Qiita()
			st := &mortalStore{Store: memstore.New(memstore.Options{})}
			f, err := frontier.New(st, frontier.Options{Profile: p})
			if err != nil {
				t.Fatal(err)
			}
			var log logged
			s, err := New(t.Context(), f, Config{GRPCAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", Drain: 2 * hang.Limit, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Listen(t.Context()); err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(t.Context()) }()
			r := &running{Server: s}
			conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: pb.URLFrontier_ServiceDesc.ServiceName})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
				t.Fatalf("got %v, %v; want SERVING", got, err)
			}
			if code, _ := r.ask(t, "GET", "/healthz", ""); code != "200" {
				t.Errorf("got %s; want 200", code)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if use == "wait" {
					if resp, err := http.Post(r.url("/v1/lease"), "", strings.NewReader(`{"wait_seconds":60,"stay":true}`)); err == nil {
						_ = resp.Body.Close() // any answer will do
					}
				}
			}()
			st.dead.Store(true)
			if use == "add" {
				_ = r.request(t, "POST", "/v1/urls", `{"url":"http://a.example/"}`)
			}
			if got, err := watch.Recv(); err == nil && got.Status != healthpb.HealthCheckResponse_NOT_SERVING || err != nil && status.Code(err) != codes.Unavailable {
				t.Errorf("got %v, %v; want NOT_SERVING", got, err)
			}
			hang.Within(t, "Serve", func() { // which waits for no drain
				if err := <-served; !errors.Is(err, store.ErrFailed) || !errors.Is(err, syscall.EIO) {
					t.Errorf("got %v; want that the store failed, and why", err)
				}
			})
			<-ended
			for _, check := range []http.HandlerFunc{s.web.getHealth, s.web.getReady} {
				w := httptest.NewRecorder()
				if check(w, httptest.NewRequest("GET", "/", nil)); w.Code != http.StatusServiceUnavailable {
					t.Errorf("got %d; want 503", w.Code)
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
