package server

import (
	"encoding/json"
	"errors"
	"fmt"
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

// TestANameThatIsMistypedShows: a crawl that nothing is known of is finished, as ever, and the answer says so; a lease that is settled
// without its crawl is stale, and the answer names the crawl in which it was looked for.
func TestANameThatIsMistypedShows(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	r.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1","crawl":"news"}`)
	var got wire.Leases
	_, lease, _ := strings.Cut(r.request(t, "POST", "/v1/lease", `{"crawl":"news"}`), "\n")
	if err := json.Unmarshal([]byte(lease), &got); err != nil || len(got.Leases) != 1 {
		t.Fatalf("got %+v, %v; want a lease", got, err)
	}
	done := fmt.Sprintf(`{"leases":[{%%s"key":%q,"token":%q}]}`, got.Leases[0].Key, got.Leases[0].Token)
	for _, c := range []struct{ path, body, want, not string }{
		{"/v1/lease", `{"crawl":"nwes"}`, `"state":"finished","finished":true,"unknown_crawl":true`, ""},
		{"/v1/lease", `{"crawl":"news"}`, `"state":"waiting"`, "unknown_crawl"},
		{"/v1/done", fmt.Sprintf(done, ""), `{"answers":["stale"],"stale_in":"DEFAULT"}`, ""},
		{"/v1/done", fmt.Sprintf(done, `"crawl":"news",`), `{"answers":["ok"]}`, ""},
		{"/v1/done", fmt.Sprintf(done, `"crawl":"nwes",`), `{"answers":["stale"]}`, ""},
		{"/v1/lease", `{"crawl":"news"}`, `"state":"finished"`, "unknown_crawl"},
		{"/v1/lease", `{"crawl":"*"}`, `"state":"finished"`, "unknown_crawl"},
	} {
		if out := r.request(t, "POST", c.path, c.body); !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%s of %s: got %s; want %s, without %q", c.path, c.body, out, c.want, c.not)
		}
	}
}
