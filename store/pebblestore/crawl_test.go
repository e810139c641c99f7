package pebblestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestCrawlsStayInOrder: crawls that come and go are listed in order of name, and a
// forgotten one leaves nothing in memory.
func TestCrawlsStayInOrder(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	for i := range 100 {
		see(t, s, fmt.Sprintf("c%02d", i*37%100), testKeys(0, 2))
	}
	for i := range 50 {
		forget(t, s, store.Selection{Crawl: fmt.Sprintf("c%02d", 2*i)})
	}
	for range 2 {
		names, err := s.Crawls(t.Context())
		if err != nil || len(names) != 50 || len(s.byName) != 50 {
			t.Fatalf("got %d crawls, %d in memory, %v; want 50", len(names), len(s.byName), err)
		}
		for i, name := range names {
			if want := fmt.Sprintf("c%02d", 2*i+1); name != want {
				t.Fatalf("got %s; want %s", name, want)
			}
		}
		s = reopen(t, s, "db", opt)
	}
	if n := forget(t, s, store.Selection{Crawl: "*"}); n != 100 || len(s.byName) != 0 {
		t.Errorf("got %d keys forgotten, %d crawls in memory; want 100, 0", n, len(s.byName))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestForgetByAgeOfManyCrawls: all crawls are gone through once, crawl after crawl.
func TestForgetByAgeOfManyCrawls(t *testing.T) {
	clock := newStepClock()
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: time.Hour}})
	defer s.Close()
	for i := range 50 {
		see(t, s, fmt.Sprintf("c%02d", i), testKeys(0, 3))
	}
	clock.step(2 * time.Hour)
	see(t, s, "c20", testKeys(10, 12))
	if n := forget(t, s, store.Selection{Crawl: "*", Before: clock.Now()}); n != 150 {
		t.Errorf("got %d keys forgotten; want 150", n)
	}
	wantSound(t, s)
	wantSeen(t, s, "*", 2)
}
