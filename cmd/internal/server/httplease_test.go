package server

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

// TestLocalPauseWaits pauses a daemon alone: a request that waits for a lease
// waits for the end of the pause, too, whichever comes first.
func TestLocalPauseWaits(t *testing.T) {
	for name, pausedBefore := range map[string]bool{"before the request": true, "during its wait": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := openFrontier(t, canon.None(), newClock())
				s, err := New(t.Context(), f, Config{Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				s.pausedHere.set(pausedBefore)
				type result struct {
					answer wire.Leases
					err    error
				}
				got := make(chan result, 1)
				ask := func() {
					a, _, err := s.web.lease(t.Context(), &wire.LeaseRequest{WaitSeconds: 30, Stay: true}, frontier.LeaseRequest{Crawl: "*", Max: 1, Lease: time.Hour})
					got <- result{a, err}
				}
				go ask()
				synctest.Wait()
				s.pausedHere.set(true)
				synctest.Wait() // a lease that is being made is handed out
				if _, err := f.Add(t.Context(), "http://a.com/"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				if len(got) > 0 {
					t.Fatalf("got %+v during the pause", <-got)
				}
				s.pausedHere.set(false)
				if r := <-got; r.err != nil || len(r.answer.Leases) != 1 {
					t.Errorf("got %+v after the pause; want a lease", r)
				}
				s.pausedHere.set(true)
				began := time.Now()
				ask()
				if r := <-got; r.err != nil || r.answer.Leases == nil || len(r.answer.Leases) != 0 || time.Since(began) != 30*time.Second {
					t.Errorf("got %+v after %v; want nothing after the wait it asked for", r, time.Since(began))
				}
				go ask()
				synctest.Wait()
				close(s.draining)
				if r := <-got; !errors.Is(r.err, errDraining) {
					t.Errorf("got %+v from a server that ends; want %v", r, errDraining)
				}
			})
		})
	}
}

// TestAnEmptyAnswerSaysWhy: also where the wait of a call ends before the frontier has looked for it.
func TestAnEmptyAnswerSaysWhy(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	r.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1"}`)
	r.request(t, "POST", "/v1/lease", `{}`)
	var calls sync.WaitGroup
	for range 64 {
		calls.Go(func() {
			out := r.request(t, "POST", "/v1/lease", `{"stay":true,"wait_seconds":0.001}`)
			if !strings.Contains(out, `"state":"waiting"`) {
				t.Errorf("got %s; want the state waiting", out)
			}
		})
	}
	calls.Wait()
}
