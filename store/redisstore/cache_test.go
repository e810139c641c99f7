package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// some makes the URLs from from to to, in a queue.
func some(from, to int) (items []store.Item, keys []store.Key) {
	for n := from; n < to; n++ {
		items = append(items, testItem(n, "q"))
		keys = append(keys, items[n-from].Key)
	}
	return items, keys
}

// news returns how many of the items a daemon calls new.
func news(t *testing.T, s *Store, items []store.Item) (n int) {
	t.Helper()
	for _, v := range must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t) {
		if v.Status == store.New {
			n++
		}
	}
	return n
}

// cached returns how many of the keys a daemon's cache has.
func cached(s *Store, keys []store.Key) int {
	items := make([]store.Item, len(keys))
	for i := range items {
		items[i].Key = keys[i]
	}
	_, _, rest := (&wave{s: s, crawl: "c", items: items}).recall(upTo(len(items)))
	return len(keys) - len(rest)
}

// warm makes a daemon's cache know all of the items, that are known.
func warm(t *testing.T, s *Store, items []store.Item, keys []store.Key) {
	t.Helper()
	for try := 0; cached(s, keys) < len(keys); try++ {
		if n := news(t, s, items); n > 0 || try > 2 {
			t.Fatalf("got %d new, and %d of %d in the cache after %d tries; want duplicates in the cache", n, cached(s, keys), len(keys), try)
		}
	}
}

// TestCacheSavesTheWay offers keys that the cache knows: they are not sent to the cluster.
func TestCacheSavesTheWay(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(rediscluster.Single(t), 8))
	defer s.Close()
	items, keys := some(0, 100)
	news(t, s, items)
	warm(t, s, items, keys)
	if err := only(t, s).ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	more, _ := some(0, 101)
	if n := news(t, s, more); n != 1 {
		t.Fatalf("got %d new; want 1", n)
	}
	stats := must(only(t, s).InfoMap(t.Context(), "commandstats").Result())(t)["Commandstats"]
	var calls int
	if _, err := fmt.Sscanf(stats["cmdstat_hsetnx"], "calls=%d,", &calls); err != nil || calls > 5 {
		t.Fatalf("got %d keys recorded (%v, %q); want the new one, and marks", calls, err, stats["cmdstat_hsetnx"])
	}
}

// TestForgetReachesEveryCache forgets by one daemon what another's cache knows. After it the
// caches fill again.
func TestForgetReachesEveryCache(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	items, keys := some(0, 100)
	for name, sel := range map[string]store.Selection{
		"keys":       {Crawl: "c", Keys: keys[:40]},
		"queue":      {Crawl: "c", Queue: "q"},
		"age":        {Crawl: "c", Before: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
		"crawl":      {Crawl: "c"},
		"all crawls": {Crawl: "*"},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(addr, 8)
			a, b := open(t, o), open(t, o)
			defer closeAll(t, a, b)
			news(t, a, items)
			warm(t, a, items, keys)
			warm(t, b, items, keys)
			gone := int(must(a.Forget(t.Context(), sel))(t))
			if gone == 0 && name != "age" { // all are held
				t.Fatal("got no key forgotten; want some")
			}
			if n := news(t, b, items); n != gone {
				t.Fatalf("got %d new where a cache knew them; want the %d that were forgotten", n, gone)
			}
			if n := news(t, a, items); n != 0 {
				t.Fatalf("got %d new; want none again", n)
			}
			warm(t, b, items, keys)
		})
	}
}

// TestAForgetterDies leaves a Forget half way: another daemon's cache knows the keys that are forgotten, and not the epochs
// of their shards.
func TestAForgetterDies(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 8)
	a, b := open(t, o), open(t, o)
	defer closeAll(t, a, b)
	items, keys := some(0, 100)
	news(t, a, items)
	warm(t, b, items, keys)
	found := must(a.resolve(t.Context(), scriptResolve, "c", keys[:40]))(t)
	var list []*step
	for i := range found {
		list = append(list, &step{key: keys[i], old: found[i], mode: 'h'})
	}
	must(true, a.begin(t.Context(), "c", stepForget, list))(t)
	d := &delivery{s: a, crawl: "c", steps: list[:20]}
	must(true, d.release(t.Context()))(t)
	must(true, d.end(t.Context()))(t)
	if n := news(t, b, items); n != 40 { // b finishes the other 20
		t.Fatalf("got %d new; want the 40 that are forgotten", n)
	}
	warm(t, b, items, keys)
}

// TestAFullQueueKeepsTheCache adds to a full queue: keys that were never reported as known come and go, and the cache stays valid.
func TestAFullQueueKeepsTheCache(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 2))
	defer s.Close()
	items, keys := some(0, 100)
	news(t, s, items)
	warm(t, s, items, keys)
	more, _ := some(100, 150)
	for _, v := range must(s.Add(t.Context(), "c", more, store.AddOptions{MaxPerQueue: 100}))(t) {
		if v.Status != store.Full {
			t.Fatalf("got %v; want a full queue", v.Status)
		}
	}
	if n := cached(s, keys); n != 100 || news(t, s, items) != 0 {
		t.Fatalf("got %d of 100 keys in the cache", n)
	}
}

// TestCachesAgreeWithOne compares three daemons whose caches are too small with a set in memory.
func TestCachesAgreeWithOne(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	o := testOptions(addr, 4)
	var daemons []*Store
	for _, bytes := range []int64{64, 1024, -1} {
		o.CacheBytes = bytes
		daemons = append(daemons, open(t, o))
	}
	defer closeAll(t, daemons...)
	rng, known := rand.New(rand.NewPCG(7, 11)), map[store.Key]bool{}
	for step := range 400 {
		s, from := daemons[rng.IntN(len(daemons))], rng.IntN(150)
		items, keys := some(from, from+20+rng.IntN(60))
		if rng.IntN(8) == 0 {
			must(s.Forget(t.Context(), store.Selection{Crawl: "c", Keys: keys}))(t)
			for _, k := range keys {
				delete(known, k)
			}
			continue
		}
		fresh := make([]bool, len(keys))
		if rng.IntN(3) == 0 {
			must(true, s.See(t.Context(), "c", keys, fresh, store.SeeOptions{}))(t)
		} else {
			for i, v := range must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t) {
				fresh[i] = v.Status == store.New
			}
		}
		for i, k := range keys {
			if fresh[i] == known[k] {
				t.Fatalf("step %d: got new: %v for key %d; want %v", step, fresh[i], from+i, !known[k])
			}
			known[k] = true
		}
	}
}

// cacheWhenItsMasterDies kills a master: no duplicate is answered from
// the cache that the cluster doesn't confirm, and a Forget after it reaches the caches.
func cacheWhenItsMasterDies(t *testing.T, c *rediscluster.Cluster) {
	ctx := hang.Context(t)
	must(true, c.WaitHealthy(ctx))(t)
	o := Options{Addrs: c.Addrs(), Prefix: "cache:", Shards: 8, waitTimeout: 4 * time.Second, RetryFor: hang.Limit}
	a, b := open(t, o), open(t, o)
	hasty := open(t, o)
	hasty.opt.waitTimeout, hasty.opt.RetryFor = 300*time.Millisecond, 5*time.Second
	hasty.cache = b.cache
	defer closeAll(t, a, b, hasty)
	items, keys := some(0, 200)
	news(t, a, items)
	warm(t, b, items, keys)

	slot := int(crc16("0") % slots)
	old := must(c.Master(ctx, slot))(t)
	replica := must(c.Replica(ctx, old))(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.Nodes[replica].Stop())
	if _, err := hasty.Add(ctx, "c", items, store.AddOptions{}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got error %v from a master whose replica is silent; want %v", err, store.ErrUnavailable)
	}
	check(c.Nodes[replica].Cont())
	check(c.Nodes[old].Kill())
	must(c.WaitFailover(ctx, old, slot))(t)
	check(c.Nodes[old].Restart(ctx))
	check(c.WaitHealthy(ctx))
	if n := news(t, b, items); n != 0 {
		t.Fatalf("got %d new after the failover; want none", n)
	}
	warm(t, b, items, keys)
	if n := must(a.Forget(t.Context(), store.Selection{Crawl: "c", Keys: keys[:50]}))(t); n != 50 {
		t.Fatalf("got %d forgotten; want 50", n)
	}
	if n := news(t, b, items); n != 50 {
		t.Fatalf("got %d new; want the 50 that were forgotten", n)
	}
}

// TestABatchKeepsItsOrder adds batches of which a daemon learns only on the way what another one did to their keys: it forgot some, as a whole or half way
// and then died, or marked them as not found. Queues get the URLs of each batch in its order all the same.
func TestABatchKeepsItsOrder(t *testing.T) {
	t.Parallel()
	spelled := func(n int) store.Item {
		it := testItem(n, []string{"q", "r"}[n%2])
		it.Variant = true
		return it
	}
	for name, change := range map[string]func(s *Store, keys []store.Key){
		"forgotten": func(s *Store, keys []store.Key) {
			must(s.Forget(t.Context(), store.Selection{Crawl: "c", Keys: keys}))(t)
		},
		"half forgotten": func(s *Store, keys []store.Key) {
			found := must(s.resolve(t.Context(), scriptResolve, "c", keys))(t)
			list := make([]*step, len(keys))
			for i := range list {
				list[i] = &step{key: keys[i], old: found[i], mode: 'h'}
			}
			must(true, s.begin(t.Context(), "c", stepForget, list))(t)
		},
		"marked": func(s *Store, keys []store.Key) {
			list := make([]store.Settlement, len(keys))
			for i, k := range keys {
				list[i] = store.Settlement{Key: k, Outcome: store.Drop, Mark: store.Spelling("http://a.example/another")}
			}
			must(s.Settle(t.Context(), "c", list))(t)
		},
	} {
		for _, most := range []int64{0, 1000} {
			t.Run(fmt.Sprint(name, most), func(t *testing.T) {
				o := testOptions(sharedServer(t), 4)
				a, b := open(t, o), open(t, o)
				defer closeAll(t, a, b)
				var batch, known []store.Item
				for n := range 60 {
					batch = append(batch, spelled(n))
					if n%3 > 0 {
						known = append(known, spelled(n))
					}
				}
				keys := keysOf(known)
				must(b.Add(t.Context(), "c", known, store.AddOptions{}))(t)
				warm(t, b, known, keys)
				var changed []store.Key
				for i := 0; i < len(keys); i += 2 {
					changed = append(changed, keys[i])
				}
				change(a, changed)
				must(b.Add(t.Context(), "c", batch, store.AddOptions{MaxPerQueue: most}))(t)
				for _, queue := range []string{"q", "r"} {
					var want, got []string
					for _, list := range [][]store.Item{known, batch} {
						for _, it := range list {
							again := slices.Contains(changed, it.Key) || !slices.Contains(keys, it.Key)
							if it.Queue == queue && again == (&list[0] == &batch[0]) {
								want = append(want, it.URL)
							}
						}
					}
					for e, err := range b.Entries(t.Context(), "c", queue) {
						got = append(got, must(e, err)(t).URL)
					}
					if !slices.Equal(got, want) {
						t.Errorf("queue %s: got %q; want %q", queue, got, want)
					}
				}
			})
		}
	}
}

// TestAnotherDaemonMarks has one daemon mark a URL as not found, where another has heard from its shard that nothing is marked.
func TestAnotherDaemonMarks(t *testing.T) {
	t.Parallel()
	long := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		settles bool // the other daemon does, with no token
		offer   store.Item
		opt     store.AddOptions
		want    store.Verdict
	}{
		"an offer":                 {want: store.Verdict{Status: store.Duplicate, Requeued: true}},
		"if it ended before":       {offer: store.Item{EndedBefore: long}, want: store.Verdict{Status: store.Duplicate, Requeued: true}},
		"to a full crawl":          {opt: store.AddOptions{MaxHeld: 1}, want: store.Verdict{Status: store.Full}},
		"its first URL, full":      {opt: store.AddOptions{WantFirst: true, MaxHeld: 1}, want: store.Verdict{Status: store.Full, First: testItem(1, "q").URL}},
		"to a full queue":          {opt: store.AddOptions{MaxPerQueue: 1}, want: store.Verdict{Status: store.Full}},
		"its first URL":            {opt: store.AddOptions{WantFirst: true}, want: store.Verdict{Status: store.Duplicate, Requeued: true, First: testItem(1, "q").URL}},
		"when it has been fetched": {settles: true, want: store.Verdict{Status: store.Duplicate}},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(sharedServer(t), 1)
			o.KeepURLs = true
			a, b := open(t, o), open(t, o)
			defer closeAll(t, a, b)
			first := testItem(1, "q")
			must(b.Add(t.Context(), "c", []store.Item{first, testItem(2, "q")}, store.AddOptions{}))(t)
			must(a.Settle(t.Context(), "c", []store.Settlement{{Key: first.Key, Outcome: store.Drop, Mark: store.Spelling(first.URL)}}))(t)
			if c.settles {
				must(b.Settle(t.Context(), "c", []store.Settlement{{Key: first.Key, Outcome: store.Complete}}))(t)
			}
			offer := c.offer
			offer.Key, offer.Queue, offer.URL, offer.Variant = first.Key, "q", first.URL+"/.", true
			if v := must(b.Add(t.Context(), "c", []store.Item{offer}, c.opt))(t); v[0] != c.want {
				t.Errorf("got %+v; want %+v", v[0], c.want)
			}
		})
	}
}
