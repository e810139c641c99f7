package frontier

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

// dieHolding leases the one URL there is so often, and is not heard of again.
func dieHolding(t *testing.T, f *Frontier, times int) {
	t.Helper()
	for range times {
		l := leaseOne(t, f)
		time.Sleep(time.Until(l.Expires))
	}
}

func TestKillerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone []dropped
		f := open(t, Options{Delay: -1, Logger: onDrop(func(d dropped) { gone = append(gone, d) })})
		const url = "http://a.example/crash"
		addOne(t, f, Link{URL: url, Depth: 3})
		dieHolding(t, f, 10)
		leaseNone(t, f)
		if len(gone) != 1 || gone[0].url != url || gone[0].reason != ReasonExpired {
			t.Errorf("got %+v dropped; want %s, for its leases", gone, url)
		}
		want := Refusal{Crawl: store.DefaultCrawl, Reason: ReasonExpired, Count: 1, Examples: []string{url}}
		if got := slices.Collect(f.Refusals()); len(got) != 1 || got[0].Count != 1 || got[0].Reason != want.Reason || !slices.Equal(got[0].Examples, want.Examples) {
			t.Errorf("got refusals %+v; want %+v", got, want)
		}
		if r := addOne(t, f, Link{URL: url}); r.Status != StatusDuplicate {
			t.Errorf("got %v; want a duplicate: it is seen", r.Status)
		}
		if r := addOne(t, f, Link{URL: url, Force: true}); !r.Requeued {
			t.Error("Force did not queue it again")
		}
		dieHolding(t, f, 10)
		leaseNone(t, f)
	})
}

// TestWhatIsGivenBackDoesNotCount mixes leases that run out with leases that are
// retried, released and redirected, as they were handed out and by name alone.
func TestWhatIsGivenBackDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxExpired: 3, Attempts: -1})
		addOne(t, f, Link{URL: "http://a.example/", Meta: []byte("mine"), Depth: 2})
		for i := range 9 {
			l := leaseOne(t, f)
			if string(l.Meta) != "mine" || l.Depth != 2 {
				t.Fatalf("got meta %q, depth %d; want what was given", l.Meta, l.Depth)
			}
			if i%3 == 0 {
				l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token, URL: l.URL}
			}
			if i%2 == 0 {
				must(t, f.Release(bg, l))
			} else if again, err := f.Retry(bg, l, time.Now()); err != nil || !again {
				t.Fatalf("got %v, %v; want it put back", again, err)
			}
		}
		l := leaseOne(t, f)
		l.kept, l.complete = nil, false // as a client sends it
		if r, err := f.Redirect(bg, l, "http://A.example/"); err != nil || r.Follow == nil {
			t.Fatalf("got %+v, %v; want to follow", r, err)
		}
		time.Sleep(2 * time.Minute)
		dieHolding(t, f, 2)
		leaseNone(t, f)
	})
}

// TestNextPassesOverKillers waits for the second URL while the first is dropped,
// and ends when that was all.
func TestNextPassesOverKillers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxExpired: 1})
		addOne(t, f, Link{URL: "http://a.example/1"})
		dieHolding(t, f, 1)
		addOne(t, f, Link{URL: "http://a.example/2"})
		l, err := f.Next(bg)
		if err != nil || l.URL != "http://a.example/2" {
			t.Fatalf("got %+v, %v; want the second", l, err)
		}
		time.Sleep(time.Until(l.Expires))
		for l, err := range f.Leases(bg) {
			t.Errorf("got %v, %v; want the end", l, err)
		}
		if _, err := f.Lookup(bg, Link{URL: "http://a.example/2"}); errors.Is(err, store.ErrNotFound) {
			t.Error("a dropped URL is not seen any more")
		}
	})
}

// unsettled is a store whose next settlement fails.
type unsettled struct {
	store.Store
	fails bool
}

func (s *unsettled) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	if s.fails {
		s.fails = false
		return nil, store.ErrUnavailable
	}
	return s.Store.Settle(ctx, crawl, list)
}

// TestKillersThatCannotBeDroppedHoldNobodyUp has a killer fill the answer to who
// waits, and the store fail to drop it.
func TestKillersThatCannotBeDroppedHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unsettled{Store: newCountingStore()}
		f := openOn(t, s, Options{Delay: -1, MaxInFlight: -1, MaxExpired: 1})
		addOne(t, f, Link{URL: "http://a.example/1"})
		dieHolding(t, f, 1)
		addOne(t, f, Link{URL: "http://a.example/2"})
		s.fails = true
		start := time.Now()
		l, err := f.Next(bg)
		if err != nil || l.URL != "http://a.example/2" || time.Since(start) > 2*time.Second {
			t.Fatalf("got %+v, %v after %v; want the second within 2 s", l, err, time.Since(start))
		}
		if s.fails {
			t.Error("nothing was dropped")
		}
	})
}

// TestDroppedURLsAreLogged: no caller is answered about URLs that the frontier drops by itself.
func TestDroppedURLsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := open(t, Options{Delay: -1, MaxExpired: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		addOne(t, f, Link{URL: "http://a.example/bomb"})
		leaseOne(t, f)
		time.Sleep(time.Hour) // its fetcher died
		leaseNone(t, f)
		if got, want := log.String(), "reason=expired-leases crawl=DEFAULT urls=1 examples=[http://a.example/bomb]"; !strings.Contains(got, want) {
			t.Errorf("got log %q; want %q", got, want)
		}
	})
}

// TestGivenUpByKeyIsAnExample: a URL that is given up at its last failure is named, although the client named key and token alone.
func TestGivenUpByKeyIsAnExample(t *testing.T) {
	f := openKeep(t, true, Options{Delay: -1, Attempts: 1})
	addAll(t, f, Link{URL: "http://a.example/1"})
	l := leaseOne(t, f)
	_, err := f.Settle(bg, []Settlement{{Lease: &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}, Outcome: Retry}})
	must(t, err)
	for r := range f.Refusals() {
		if !r.Dropped || len(r.Examples) != 1 || r.Examples[0] != "http://a.example/1" {
			t.Errorf("got %+v; want the URL", r)
		}
	}
}
