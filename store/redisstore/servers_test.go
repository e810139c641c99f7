package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// TestServersThatEvictAreRefused opens a store where keys may vanish.
func TestServersThatEvictAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), testOptions(rediscluster.Single(t, "maxmemory-policy allkeys-lru"), 2))
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "CONFIG SET maxmemory-policy noeviction") {
		t.Fatalf("got error %v; want %v and what to do", err, store.ErrInvalid)
	}
}

// TestAnEmptiedServerIsNoticed empties the servers of a running daemon, and some shards: nothing is called new that
// may have been seen, and the error contains the remedy.
func TestAnEmptiedServerIsNoticed(t *testing.T) {
	t.Parallel()
	o := testOptions(rediscluster.Single(t), 4)
	o.CacheBytes = -1
	s := open(t, o)
	defer s.Close()
	ctx := t.Context()
	var items []store.Item
	for i := range 100 {
		items = append(items, testItem(i, fmt.Sprint("q", i)))
	}
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	base := s.layout.bases[2]
	keys := must(only(t, s).Keys(ctx, base+"*").Result())(t)
	must(only(t, s).Del(ctx, keys...).Result())(t)
	for what, f := range map[string]func() error{
		"add":  func() error { _, err := s.Add(ctx, "c", items, store.AddOptions{}); return err },
		"see":  func() error { return s.See(ctx, "c", keysOf(items), make([]bool, 100), store.SeeOptions{}) },
		"open": func() error { _, err := Open(ctx, o); return err },
	} {
		err := f()
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), base+"b") {
			t.Errorf("%s: got error %v; want %v, with the shard", what, err, store.ErrCorrupt)
		}
	}
	if taken, err := s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 100}); err != nil || len(taken.Leases) == 0 {
		t.Errorf("got %d leases, %v; want those of the other shards", len(taken.Leases), err)
	}
	// The operator continues without the data.
	must(only(t, s).Set(ctx, base+"b", s.layout.mark, 0).Result())(t)
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	must(only(t, s).FlushAll(ctx).Result())(t)
	if _, err := s.Add(ctx, "c", items, store.AddOptions{}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("got error %v; want %v", err, store.ErrCorrupt)
	}
}

// TestAFullServerForgets fills a server's memory, and makes room by forgetting.
func TestAFullServerForgets(t *testing.T) {
	t.Parallel()
	o := testOptions(rediscluster.Single(t), 2)
	s := open(t, o)
	defer s.Close()
	ctx := t.Context()
	var items []store.Item
	for i := range 3000 {
		items = append(items, testItem(i, fmt.Sprint("q", i%3)))
	}
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	must(only(t, s).ConfigSet(ctx, "maxmemory", "1mb").Result())(t)
	if _, err := s.Add(ctx, "c", []store.Item{testItem(3001, "a")}, store.AddOptions{}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got error %v of a full server; want %v", err, store.ErrUnavailable)
	}
	s = open(t, o) // as a command does
	defer s.Close()
	must(true, s.NameCrawls(ctx, []string{"c"}, []string{"c"}))(t)
	if n := must(s.Forget(ctx, store.Selection{Crawl: "c", Keys: keysOf(items[:500])}))(t); n != 500 {
		t.Fatalf("got %d keys forgotten; want 500", n)
	}
	if n := must(s.Forget(ctx, store.Selection{Crawl: "c", Queue: "q1"}))(t); n == 0 {
		t.Fatal("got no keys of a queue forgotten; want some")
	}
	if n := must(s.Forget(ctx, store.Selection{Crawl: "c"}))(t); n == 0 {
		t.Fatal("got no keys of a crawl forgotten; want some")
	}
}

// TestWaitersShareAnAnswer has many callers ask an idle store: the servers are asked a few times a second. What this
// daemon adds is found at once.
func TestWaitersShareAnAnswer(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(rediscluster.Single(t), 64))
	defer s.Close()
	ctx := t.Context()
	take := func() int {
		return len(must(s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 10, Lease: time.Hour}))(t).Leases)
	}
	take()
	_, before := commandsOf(t, s)
	began := time.Now()
	for range 1000 {
		take()
	}
	rounds := int(time.Since(began)/idleFor) + 1
	if _, after := commandsOf(t, s); after-before > rounds*64 {
		t.Fatalf("got %d script calls for 1,000 idle takes; want at most %d", after-before, rounds*64)
	}
	for n := range 10 {
		must(s.Add(ctx, "c", []store.Item{testItem(n, "a")}, store.AddOptions{}))(t)
		if got := take(); got != 1 {
			t.Fatalf("got %d leases behind an add; want one", got)
		}
	}
}

// TestActiveCrawlsTakeTurns has many crawls that hold nothing: a take of any doesn't look at them.
func TestActiveCrawlsTakeTurns(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(rediscluster.Single(t), 1))
	defer s.Close()
	ctx := t.Context()
	for n := range 100 {
		must(s.Add(ctx, fmt.Sprint("c", n), []store.Item{testItem(n, "a")}, store.AddOptions{}))(t)
	}
	for range 100 {
		for _, l := range must(s.Take(ctx, store.TakeRequest{Crawl: "*"}))(t).Leases {
			must(s.Settle(ctx, l.Crawl, []store.Settlement{{Key: l.Key, Token: l.Token}}))(t)
		}
	}
	must(s.Add(ctx, "c7", []store.Item{testItem(1000, "a")}, store.AddOptions{}))(t)
	before, _ := commandsOf(t, s)
	if n := len(must(s.Take(ctx, store.TakeRequest{Crawl: "*"}))(t).Leases); n != 1 {
		t.Fatalf("got %d leases; want one", n)
	}
	if after, _ := commandsOf(t, s); after-before > 60 {
		t.Fatalf("got %d commands for a take with 1 of 100 crawls active; want at most 60", after-before)
	}
}
