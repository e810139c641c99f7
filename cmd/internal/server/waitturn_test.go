package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// takeAll begins all the units that a client may have in progress, and returns what ends them.
func takeAll(t *testing.T, s *Server, c admit.Client) (end func()) {
	t.Helper()
	n, err := s.admission.work.Begin(t.Context(), c, workAlone)
	if err != nil || n != workAlone {
		t.Fatalf("got %d units, %v; want all", n, err)
	}
	return func() { s.admission.work.End(c, n) }
}

// TestEveryCallTakesTurn makes calls while their client has all its units of work in progress:
// none is answered before these end.
func TestEveryCallTakesTurn(t *testing.T) {
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/lease", `{}`, "200"},
		{"POST", "/v1/lease", `{"wait_seconds":1}`, "200"},
		{"POST", "/v1/done", `{"leases":[{"key":"00000000000000000000000000000000","token":"1"}]}`, "200"},
		{"POST", "/v1/redirect", `{"key":"00000000000000000000000000000000","token":"1","url":"http://b.example/","target":"http://c.example/"}`, "409"},
		{"POST", "/v1/queue", `{"queue":"a.example","delay_seconds":1}`, "200"},
		{"POST", "/v1/crawl", `{"crawl":"another","profile":"none"}`, "200"},
		{"GET", "/v1/stats", "", "200"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			r := startKeeping(t)
			r.offer(t, "http://a.example/")
			end := takeAll(t, r.Server, admit.ByAddress(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, c.method, r.url(c.path), strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error)
			go func() {
				resp, err := http.DefaultClient.Do(req)
				if err == nil {
					_ = resp.Body.Close() // it has failed the test
				}
				failed <- err
			}()
			hang.Until(t, "the call is served", func() bool { return r.admission.calls.Held() > 0 })
			time.Sleep(50 * time.Millisecond) // an answer that needs no turn would come
			cancel()
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v without a turn; want %v", err, context.Canceled)
			}
			hang.Until(t, "the call has ended", func() bool { return r.admission.calls.Held() == 0 })
			end()
			code, body := r.ask(t, c.method, c.path, c.body)
			if code != c.want || c.path == "/v1/lease" && !strings.Contains(body, "http://a.example/") {
				t.Errorf("got %s %s; want %s, and for a lease the URL, which no other call has", code, body, c.want)
			}
		})
	}
}

// TestLeaseThatWaitedHasTurn has a call wait for a lease, and all units of its client in progress
// when the URL comes.
func TestLeaseThatWaitedHasTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet(t, memstore.New(memstore.Options{KeepURLs: true}))
		got := make(chan int, 1)
		go func() {
			answer, held, err := s.web.lease(t.Context(), &wire.LeaseRequest{WaitSeconds: 30, Stay: true}, frontier.LeaseRequest{Crawl: "*", Max: 1, Lease: time.Hour})
			if err != nil {
				t.Error(err)
			}
			held.done()
			got <- len(answer.Leases)
		}()
		synctest.Wait()
		end := takeAll(t, s, admit.Client{})
		if _, err := s.f.own.Add(t.Context(), "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) > 0 {
			t.Error("got an answer without a turn")
		}
		end()
		if n := <-got; n != 1 {
			t.Errorf("got %d leases; want 1", n)
		}
	})
}

// quiet makes a server that does not serve.
func quiet(t *testing.T, st store.Store) *Server {
	t.Helper()
	f, err := frontier.New(st, frontier.Options{Profile: canon.None()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := New(t.Context(), f, Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTurnSeesChanges pauses the daemon, or fills its disk, while calls wait for their turns.
func TestTurnSeesChanges(t *testing.T) {
	lease := func(ctx context.Context, s *Server) (int, error) {
		leases, _, err := s.leaseNow(ctx, frontier.LeaseRequest{Crawl: "*", Max: 1, Lease: time.Hour})
		return len(leases), err
	}
	for _, c := range []struct {
		name   string
		change func(*Server)
		call   func(context.Context, *Server) (int, error)
		want   error
	}{
		{"pause", func(s *Server) { s.pausedHere.set(true) }, lease, nil},
		{"full disk", func(s *Server) { s.disk.low.Store(true) }, lease, errDiskLow},
		{"full disk, settle", func(s *Server) { s.disk.low.Store(true) }, func(ctx context.Context, s *Server) (int, error) {
			settled, err := inTurns(ctx, s.gate, make([]frontier.Settlement, 1), s.guardedSettle)
			return len(settled), err
		}, errDiskLow},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet(t, memstore.New(memstore.Options{KeepURLs: true}))
				if _, err := s.f.own.Add(t.Context(), "http://a.example/"); err != nil {
					t.Fatal(err)
				}
				end := takeAll(t, s, admit.Client{})
				done := make(chan struct{})
				go func() {
					defer close(done)
					if n, err := c.call(t.Context(), s); n != 0 || !errors.Is(err, c.want) {
						t.Errorf("got %d, %v; want none, %v", n, err, c.want)
					}
				}()
				synctest.Wait()
				c.change(s)
				end()
				<-done
			})
		})
	}
}

// secondFails is a store whose second step of a kind fails.
type secondFails struct {
	store.Store
	adds, settled int
}

var errSecond = errors.New("the second step fails")

func (s *secondFails) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	if s.adds++; s.adds == 2 {
		return nil, errSecond
	}
	return s.Store.Add(ctx, crawl, items, opt)
}

func (s *secondFails) Settle(ctx context.Context, crawl string, settlements []store.Settlement) ([]store.SettleStatus, error) {
	if s.settled++; s.settled == 2 {
		return nil, errSecond
	}
	return s.Store.Settle(ctx, crawl, settlements)
}

// TestSecondTurnFails puts items of which the second turn fails: what the first turn stored is
// answered as such, and a URL whose result was stated before it is still SKIPPED.
func TestSecondTurnFails(t *testing.T) {
	const more = 50
	item := func(i int, known bool) *putItem {
		return &putItem{offered: offered{url: frontier.Link{URL: fmt.Sprintf("http://a.example/%d", i), Crawl: defaultCrawl}, ok: true}, known: known}
	}
	for name, n := range map[string][2]int{"of discovered URLs": {1, workShared + more}, "of known URLs": {workShared + more, 1}} {
		t.Run(name, func(t *testing.T) {
			r := &running{Server: quiet(t, &secondFails{Store: memstore.New(memstore.Options{KeepURLs: true})})}
			r.besideAnother(t)
			var items []*putItem
			for i := range n[0] {
				items = append(items, item(i, true))
			}
			for i := range n[1] {
				items = append(items, item(i, false))
			}
			got := map[pb.AckMessage_Status]int{}
			for i, st := range r.putItems(t.Context(), items) {
				got[st]++
				if i == n[0] && st != pb.AckMessage_SKIPPED {
					t.Errorf("got %v for the URL whose result was stated before it; want SKIPPED", st)
				}
			}
			if got[pb.AckMessage_SKIPPED] != 1 || got[pb.AckMessage_FAIL] != more || got[pb.AckMessage_OK] != workShared {
				t.Errorf("got %v; want 1 SKIPPED, %d that failed, %d OK", got, more, workShared)
			}
		})
	}
}
