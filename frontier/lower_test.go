package frontier

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLower: with Lower, a lowered URL is fetched after all others of its queue, also after those
// with priority 0, in whatever order they came; SkipTraps exempts a URL; without Lower, or with NoHeuristics,
// priorities stay as they are.
func TestLower(t *testing.T) {
	lowered := func(form string, _ bool) bool { return strings.Contains(form, "/trap/") }
	f := open(t, Options{Lower: lowered, Delay: -1, MaxInFlight: -1})
	links := []Link{
		{URL: "http://a.example/trap/1", Priority: 5}, {URL: "http://a.example/1"},
		{URL: "http://a.example/trap/2", SkipTraps: true}, {URL: "http://a.example/3", Priority: 3},
	}
	addAll(t, f, links...)
	for i, want := range []struct {
		url      string
		priority uint8
	}{{links[3].URL, 3}, {links[1].URL, 1}, {links[2].URL, 1}, {links[0].URL, 0}} {
		if l := leaseOne(t, f); l.URL != want.url || l.Priority != want.priority {
			t.Errorf("lease %d: got %s with priority %d; want %+v", i, l.URL, l.Priority, want)
		}
	}
	for _, opt := range []Options{{}, {NoHeuristics: true, Lower: lowered, Traps: Traps{PathDepth: 1}}} {
		opt.Delay, opt.MaxInFlight = -1, -1
		f = open(t, opt)
		addOne(t, f, Link{URL: "http://a.example/trap/1"})
		if l := leaseOne(t, f); l.Priority != 0 {
			t.Errorf("got priority %d; want 0", l.Priority)
		}
	}
}

// TestRank: URLs come by rank, whatever their own priority, except urgent and lowered ones; SkipTraps exempts a URL. A queued URL whose rank
// has grown goes back, and nothing is counted; one whose rank is smaller keeps its place.
func TestRank(t *testing.T) {
	var more atomic.Int64
	rank := func(form string) int {
		return strings.Count(form, "/r") + int(more.Load())*strings.Count(form, "/more")
	}
	opt := Options{Rank: rank, Lower: func(form string, _ bool) bool { return strings.Contains(form, "/trap") }, Delay: -1, MaxInFlight: -1}
	f := open(t, opt)
	addAll(t, f, Link{URL: "http://a.example/r1/r2/r3/r4/r5/r6/r7"}, Link{URL: "http://a.example/r/r", Priority: 6}, Link{URL: "http://a.example/trap/1"},
		Link{URL: "http://a.example/r/more"}, Link{URL: "http://a.example/more"}, Link{URL: "http://a.example/r/r/r", SkipTraps: true},
		Link{URL: "http://a.example/r/r/urgent", Priority: 7}, Link{URL: "http://a.example/r/less"})
	more.Store(2)
	for _, want := range []struct {
		path     string
		priority uint8
	}{{"r/r/urgent", 7}, {"r/r/r", 6}, {"r/less", 5}, {"r/r", 4}, {"more", 4}, {"r/more", 3}, {"r1/r2/r3/r4/r5/r6/r7", 1}, {"trap/1", 0}} {
		l := leaseOne(t, f)
		if got := strings.TrimPrefix(l.URL, "http://a.example/"); got != want.path || l.Priority != want.priority || l.Attempts != 1 || l.Releases != 0 {
			t.Errorf("got %s with priority %d, attempt %d, %d releases; want %+v, attempt 1", got, l.Priority, l.Attempts, l.Releases, want)
		}
		must(t, f.Done(bg, l))
	}
	leaseNone(t, f)
	opt.NoHeuristics = true
	f = open(t, opt)
	addOne(t, f, Link{URL: "http://a.example/r"})
	if l := leaseOne(t, f); l.Priority != 0 {
		t.Errorf("got priority %d; want 0", l.Priority)
	}
}

// TestLowerQueued: a URL that is lowered after it was queued goes back behind the others once, with
// as many attempts and the same data as before, and is counted nowhere. SkipTraps exempts it.
func TestLowerQueued(t *testing.T) {
	var on atomic.Bool
	lowered := func(form string, _ bool) bool { return on.Load() && strings.Contains(form, "/trap/") }
	f := open(t, Options{Lower: lowered, Delay: -1, MaxInFlight: -1, Attempts: 2})
	addAll(t, f, Link{URL: "http://a.example/trap/1", Meta: []byte("mine"), Depth: 3}, Link{URL: "http://a.example/trap/2", Priority: 7},
		Link{URL: "http://a.example/trap/3", SkipTraps: true}, Link{URL: "http://a.example/4"})
	on.Store(true)
	for i, want := range []string{"http://a.example/trap/3", "http://a.example/4", "http://a.example/trap/2", "http://a.example/trap/1"} {
		l := leaseOne(t, f)
		if l.URL != want || l.Attempts != 1 || i < 2 && l.Priority != 1 || i >= 2 && l.Priority != 0 {
			t.Errorf("lease %d: got %s with priority %d, attempt %d; want %s, attempt 1", i, l.URL, l.Priority, l.Attempts, want)
		}
		if i == 3 && (string(l.Meta) != "mine" || l.Depth != 3 || l.Releases != 0) {
			t.Errorf("got %q, depth %d, %d returned; want its data", l.Meta, l.Depth, l.Releases)
		}
		must(t, f.Done(bg, l))
	}
	leaseNone(t, f)
	for r := range f.Refusals() {
		t.Errorf("got %+v; want nothing counted", r)
	}
	addOne(t, f, Link{URL: "http://a.example/trap/5", SkipTraps: true})
	must(t, f.Release(bg, leaseOne(t, f)))
	if l := leaseOne(t, f); !l.record().exempt || l.Priority != 1 || l.Attempts != 2 {
		t.Errorf("got %+v; want it exempt, attempt 2", l)
	}
}

// TestRankCostsNoTime crawls a host whose days turn out to lead nowhere once they are queued: at the pace of its delay, they are fetched in their
// turn, since a URL that is put back costs as much time as one that is fetched.
func TestRankCostsNoTime(t *testing.T) {
	const days = 50
	for _, ranked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var first PagesFirst
			opt := Options{Delay: time.Second}
			if ranked {
				opt.Rank = first.Rank
			}
			f := open(t, opt)
			for i := range days {
				addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/day/%d", i)})
			}
			began := time.Now()
			for range days {
				l, err := f.Next(bg)
				must(t, err)
				first.Fetched(l.URL, nil)
				must(t, f.Done(bg, l))
			}
			if took := time.Since(began); took != (days-1)*time.Second {
				t.Errorf("ranked %v: got %d pages in %v; want one a second", ranked, days, took)
			}
		})
	}
}
