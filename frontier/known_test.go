package frontier

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

func TestPutCreatesAndOverwrites(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { testPut(t, openKeep(t, keep, Options{Delay: -1}), keep) })
	}
}

func testPut(t *testing.T, f *Frontier, keep bool) {
	u, later := Link{URL: "http://a.example/", Meta: []byte("1")}, time.Now().Add(time.Hour)
	put := func(next time.Time) Status {
		results, err := f.Put(bg, []Known{{Link: u, Next: next}})
		must(t, err)
		return results[0].Status
	}
	before := int64(0) // completions of before, of which the store knows nothing
	held := func(want int64) {
		t.Helper()
		if s, err := f.Stats(bg, ""); err != nil || s.Held != want || s.Completed != before+1-want {
			t.Fatalf("got %+v, %v; want %d held, %d completed", s, err, want, before+1-want)
		}
	}
	if got := put(time.Time{}); got != StatusNew {
		t.Fatalf("got %v; want an unknown URL created", got)
	}
	held(0)
	if r := addOne(t, f, u); r.Status != StatusDuplicate {
		t.Fatalf("got %v; want completed to mean seen", r.Status)
	}
	for range 2 { // completing twice counts once
		if got := put(time.Time{}); got != StatusDuplicate {
			t.Fatalf("got %v; want it overwritten", got)
		}
		held(0)
	}
	u.Meta = []byte("2")
	put(later)
	if !keep {
		before = 1
	}
	held(1)
	leaseNone(t, f)
	put(time.Now())
	l := leaseOne(t, f)
	if string(l.Meta) != "2" || l.Attempts != 1 {
		t.Errorf("got %+v; want the data of the last Put", l)
	}
	u.Meta = nil
	put(time.Now()) // ends the lease
	if err := f.Done(bg, l); !errors.Is(err, ErrStale) {
		t.Errorf("got %v; want ErrStale", err)
	}
	if l = leaseOne(t, f); len(l.Meta) != 0 {
		t.Errorf("got data %q; want none, as put", l.Meta)
	}
	put(time.Time{})
	held(0)
}

func TestPutKeepsTheFirstSpelling(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example"})
	if _, err := f.Put(bg, []Known{{Link: Link{URL: "HTTP://a.example/"}, Next: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	if l := leaseOne(t, f); l.URL != "http://a.example" {
		t.Errorf("got %s; want the URL as first found", l.URL)
	}
}

func TestPutAcrossCrawlsAndRefusals(t *testing.T) {
	f := exact(t, open(t, Options{Traps: Traps{PathDepth: 1}}), "raw")
	results, err := f.Put(bg, []Known{
		{Link: Link{URL: "http://a.example/#1", Crawl: "raw"}},
		{Link: Link{URL: "::"}},
		{Link: Link{URL: "http://a.example/#2", Crawl: "raw"}},
		{Link: Link{URL: "http://a.example/deep/er", Priority: 3}, Next: time.Now()},
		{Link: Link{URL: "http://a.example/", Crawl: "*"}},
	})
	must(t, err)
	for i, want := range []Status{StatusNew, StatusRefused, StatusNew, StatusNew, StatusRefused} {
		if results[i].Status != want {
			t.Errorf("URL %d: got %v %q; want %v", i, results[i].Status, results[i].Reason, want)
		}
	}
	if _, err := f.Lookup(bg, Link{URL: "http://a.example/#3", Crawl: "raw"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
}

func TestPutTakesPriorityAndQueue(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			s, err := b.open()
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			f := openOn(t, s, Options{Delay: -1})
			u := Link{URL: "http://a.example/", Priority: 5, Queue: "mine", Depth: 2}
			for i, want := range []Status{StatusNew, StatusDuplicate} {
				results, err := f.Put(bg, []Known{{Link: u, Next: time.Unix(1, 0)}})
				if err != nil || results[0].Status != want {
					t.Fatalf("got %+v, %v; want %v", results, err, want)
				}
				e, err := f.Lookup(bg, u)
				if err != nil || e.Priority != 5 || e.Queue != "mine" || e.Depth != 2 || e.State != store.Queued {
					t.Errorf("put %d: got %+v, %v; want it as put", i, e, err)
				}
			}
		})
	}
}

// TestKnownRedirect follows redirects that a client states of URLs without leases, between variants of
// one page, in a store that keeps texts and in one that doesn't.
func TestKnownRedirect(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := openKeep(t, keep, Options{Delay: -1, tuning: tuning{maxRedirects: 3}})
			variant := func(i int) string { return fmt.Sprintf("http://a.example/x?a=1&b=2#%d", i) }
			state := func(k Known) Result {
				t.Helper()
				results, err := f.Put(bg, []Known{k})
				must(t, err)
				return results[0]
			}
			addOne(t, f, Link{URL: variant(0), Depth: 2})
			leaseOne(t, f)
			// As a fetcher of URLFrontier's does it: the redirect, its target, both in any order.
			if r := addOne(t, f, Link{URL: variant(1)}); r.Status != StatusDuplicate {
				t.Errorf("got %+v; want a duplicate of the leased one", r)
			}
			later := time.Now().Add(time.Hour)
			if r := state(Known{Link: Link{URL: variant(0), Meta: []byte("m")}, Next: later, Redirect: variant(1)}); r.Status != StatusDuplicate || !r.Requeued {
				t.Errorf("got %+v; want the target queued", r)
			}
			l := leaseOne(t, f)
			if l.URL != variant(1) || l.Redirects != 1 || l.Depth != 2 || string(l.Meta) != "m" || l.Attempts != 1 {
				t.Errorf("got %+v; want the target, one hop, the depth of its source", l)
			}
			// What was said before, and a redirect to itself, change nothing.
			state(Known{Link: Link{URL: variant(0)}, Redirect: variant(1)})
			must(t, extend(f, l, time.Now().Add(time.Minute)))
			state(Known{Link: Link{URL: variant(1)}, Next: later, Redirect: variant(1)})
			leaseNone(t, f)
			if e, err := f.Lookup(bg, Link{URL: variant(0)}); err != nil || e.State != store.Queued || !e.Due.Equal(later.Truncate(time.Millisecond)) && e.Due.Before(later) {
				t.Errorf("got %+v, %v; want it queued for later", e, err)
			}
			// A loop ends: after three hops the state is as the client says.
			for i := range 3 {
				if r := state(Known{Link: Link{URL: variant(i + 1)}, Redirect: variant(i + 2)}); !r.Requeued {
					t.Errorf("hop %d: got %+v; want it followed", i, r)
				}
				leaseOne(t, f)
			}
			if r := state(Known{Link: Link{URL: variant(4)}, Redirect: variant(5)}); r.Requeued {
				t.Errorf("got %+v; want the chain ended", r)
			}
			leaseNone(t, f)
			refused := slices.Collect(f.Refusals())
			if len(refused) != 1 || refused[0].Reason != ReasonRedirects || refused[0].Examples[0] != variant(5) {
				t.Errorf("got %+v; want the end of the chain counted", refused)
			}
			if s, err := f.Stats(bg, ""); err != nil || s.Held != 0 || s.Seen != 1 {
				t.Errorf("got %+v, %v; want one page, not held", s, err)
			}
			// A page that was not known, and another page.
			if r := state(Known{Link: Link{URL: "http://b.example//x"}, Redirect: "http://b.example/x"}); r.Status != StatusNew || !r.Requeued {
				t.Errorf("got %+v; want the target new, and queued", r)
			}
			if l := leaseOne(t, f); l.URL != "http://b.example/x" {
				t.Errorf("got %s; want the target", l.URL)
			}
			if r := state(Known{Link: Link{URL: "http://c.example/1"}, Redirect: "http://c.example/2"}); r.Requeued {
				t.Errorf("got %+v; want another page left to be offered", r)
			}
			leaseNone(t, f)
		})
	}
}

// TestKnownRedirectAndItsTarget states both in one call, in either order: the state of the target counts.
func TestKnownRedirectAndItsTarget(t *testing.T) {
	source := Known{Link: Link{URL: "http://a.example//x"}, Redirect: "http://a.example/x"}
	target := Known{Link: Link{URL: "http://a.example/x"}}
	for _, known := range [][]Known{{source, target}, {target, source}} {
		f := openKeep(t, true, Options{Delay: -1})
		_, err := f.Put(bg, known)
		must(t, err)
		leaseNone(t, f)
		if s, err := f.Stats(bg, ""); err != nil || s.Completed != 1 {
			t.Errorf("got %+v, %v; want it completed", s, err)
		}
	}
}

// TestKnownOutcomeCounts: failures and deferrals that a client states count in the round, and pages begin another.
func TestKnownOutcomeCounts(t *testing.T) {
	f := openKeep(t, true, Options{Delay: -1, Attempts: 2, MaxDeferred: 1})
	page := Link{URL: "http://a.example/", Meta: []byte("m"), Depth: 1}
	for i, tt := range []struct {
		outcome             Outcome
		failures, deferrals int
	}{{Retry, 1, 0}, {Retry, 2, 0}, {Defer, 2, 1}, {Retry, 3, 1}, {Done, 0, 0}, {Defer, 0, 1}, {Redirected, 0, 0}} {
		r, err := f.Put(bg, []Known{{Link: page, Outcome: tt.outcome, Next: time.Now().Add(-time.Second)}})
		must(t, err)
		if want := map[bool]Status{true: StatusNew, false: StatusDuplicate}[i == 0]; r[0].Status != want {
			t.Errorf("put %d: got %v; want %v", i, r[0].Status, want)
		}
		l := leaseOne(t, f)
		if l.Failures != tt.failures || l.Deferrals != tt.deferrals || string(l.Meta) != "m" || l.Depth != 1 {
			t.Errorf("put %d: got %+v; want %d failures, %d deferrals, and its data", i, l, tt.failures, tt.deferrals)
		}
	}
	for _, o := range []Outcome{Recrawl, Extend, Redirected + 1} {
		if _, err := f.Put(bg, []Known{{Link: page, Outcome: o}}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("outcome %d: got %v; want ErrInvalid", o, err)
		}
	}
}
