package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// shared is a server for all tests that neither change, break nor count anything of it: each store has a prefix of its own.
var shared struct {
	once sync.Once
	*rediscluster.Cluster
	err error
}

func sharedServer(t testing.TB) (addr string) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Redis server")
	}
	shared.once.Do(func() {
		shared.Cluster, shared.err = rediscluster.Start(context.Background(), rediscluster.Options{Config: []string{"appendonly no"}})
	})
	if errors.Is(shared.err, rediscluster.ErrUnavailable) {
		t.Skip(shared.err)
	}
	must(true, shared.err)(t)
	return shared.Nodes[0].Addr
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.Cluster != nil {
		if err := shared.Close(); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

var prefixes atomic.Int64

// testOptions are those of a new store on a server without replicas. Its cache is small: under the race detector, to clear the usual one
// takes longer than most tests, which open hundreds of stores.
func testOptions(addr string, shards int) Options {
	return Options{Addrs: []string{addr}, Prefix: fmt.Sprintf("t%d:", prefixes.Add(1)), Shards: shards, Replicas: -1, CacheBytes: 64 << 10, RetryFor: hang.Limit}
}

// open opens a store for keys of the identity that it has, or of that of the tests.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s := openUnprepared(t, o)
	if s.Identity() == (store.Identity{}) {
		if err := s.Prepare(t.Context(), store.Terms{Identity: store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash"}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func openUnprepared(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openFor opens a store for keys of an identity.
func openFor(t testing.TB, o Options, id store.Identity) *Store {
	t.Helper()
	s := openUnprepared(t, o)
	if err := s.Prepare(t.Context(), store.Terms{Identity: id}); err != nil {
		t.Fatal(err)
	}
	return s
}

// clock is a test's own time, which the recoverers of its stores read, too.
type clock struct{ ms atomic.Int64 }

func clockAt(t time.Time) *clock {
	c := new(clock)
	c.ms.Store(t.UnixMilli())
	return c
}

// openWithClock opens a store of some shards on a server whose clock the test sets.
func openWithClock(t *testing.T, shards int) (*Store, *clock) {
	t.Helper()
	at := clockAt(time.UnixMilli(1_700_000_000_000))
	o := testOptions(sharedServer(t), shards)
	o.clock = at.now
	return open(t, o), at
}

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

func (c *clock) step(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// TestSuite has four shards, which find what crosses shards.
func TestSuite(t *testing.T) { testSuite(t, suite{shards: 4, few: 1, many: 1}) }

// TestHistories has the model's histories for four shards. One caller carries out each, so they run without the race detector.
func TestHistories(t *testing.T) {
	testSuite(t, suite{keep: []bool{}, shards: 4, few: 5, many: 8, found: []int{9, 25, 52, 190}})
}

// TestHistoriesOfGroups does so with the queues of each crawl in one of four shards.
func TestHistoriesOfGroups(t *testing.T) {
	testSuite(t, suite{keep: []bool{}, shards: 4, few: 3, many: 8, groups: true, found: []int{351}})
}

// TestHistoriesOfTwoDaemons does so with two daemons that take turns: what one of them knows of the store, the other may have changed.
func TestHistoriesOfTwoDaemons(t *testing.T) {
	testSuite(t, suite{keep: []bool{}, shards: 4, few: 3, many: 8, found: []int{3, 4, 227}, two: true})
}

// TestSuiteOfOneShard finds what a shard decides alone, groups of queues among it.
func TestSuiteOfOneShard(t *testing.T) {
	testSuite(t, suite{shards: 1, few: 2, many: 4, groups: true, found: []int{140, 156, 161, 168}})
}

// suite is a run of the suite.
type suite struct {
	keep        []bool // see storetest.Backend
	shards      int
	few, many   int   // of the model's histories, which are the dear part: many under FIRSTSEEN_TORTURE=1
	found       []int // more of them, which found a fault once
	groups, two bool  // two: daemons
}

func testSuite(t *testing.T, c suite) {
	t.Parallel()
	addr := sharedServer(t)
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		c.few = c.many
	}
	again := func(t testing.TB, s store.Store, env storetest.Env) store.Store {
		return openSuite(t, env, s.(*Store).opt)
	}
	b := storetest.Backend{
		Keep:     c.keep,
		MaxBytes: true,
		Shards:   c.shards > 1,
		Groups:   c.groups,
		Seeds:    c.few,
		Found:    c.found,
		Open: func(t testing.TB, env storetest.Env) store.Store {
			o := testOptions(addr, c.shards)
			o.Groups = c.groups
			return openSuite(t, env, o)
		},
		Reopen: func(t testing.TB, s store.Store, env storetest.Env) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return again(t, s, env)
		},
	}
	if c.two {
		b.Other = again
	}
	storetest.Run(t, b)
}

func openSuite(t testing.TB, env storetest.Env, o Options) store.Store {
	o.clock, o.KeepURLs = env.Clock, env.KeepURLs
	o.waitTimeout = hang.Limit // or a take on a busy machine ends with what it has
	if o.Replicas == 0 {
		o.Replicas = -1
	}
	return openUnprepared(t, o)
}
