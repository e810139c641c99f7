package frontier

import (
	"strings"
	"testing"
)

// TestLower: with Lower, a lowered URL is fetched after all others of its queue, also after those
// with priority 0, in whatever order they came; SkipTraps exempts a URL; without Lower priorities
// stay as they are.
func TestLower(t *testing.T) {
	lowered := func(form string) bool { return strings.Contains(form, "/trap/") }
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
	f = open(t, Options{Delay: -1, MaxInFlight: -1})
	addOne(t, f, Link{URL: "http://a.example/1"})
	if l := leaseOne(t, f); l.Priority != 0 {
		t.Errorf("got priority %d; want 0", l.Priority)
	}
}
