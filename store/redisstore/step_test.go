package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// testItem makes the nth URL of a crawl.
func testItem(n int, queue string) store.Item {
	h := uint64(n) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	var k store.Key
	binary.BigEndian.PutUint64(k[:], h)
	binary.BigEndian.PutUint64(k[8:], uint64(n)*0x94d049bb133111eb)
	return store.Item{Key: k, Queue: queue, URL: fmt.Sprintf("https://example.org/some/path/of/usual/length/page-%d.html?id=%d", n, h%9999)}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// only returns the only server of a store.
func only(t testing.TB, s *Store) *redis.Client {
	t.Helper()
	return must(s.nodes.MasterForKey(t.Context(), s.layout.meta))(t)
}

// TestRetriesAnswerAlike sends every call of an add and of a settlement twice, as after a
// lost answer.
func TestRetriesAnswerAlike(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 8))
	defer s.Close()
	ctx := t.Context()
	items := []store.Item{testItem(1, "a"), testItem(2, "b")}
	for _, cap := range []int64{0, 1} {
		o := unsent(s, fmt.Sprint("cap", cap), store.AddOptions{MaxPerQueue: cap}, items...)
		ids := s.batches.Load()
		for range 2 {
			o.fresh = nil
			s.batches.Store(ids) // the calls have the ids that they had
			must(true, o.record(ctx, upTo(len(o.items))))(t)
			if len(o.fresh) != 2 {
				t.Fatalf("got %d new; want 2", len(o.fresh))
			}
		}
		for range 2 {
			if err := o.queue(ctx); err != nil {
				t.Fatal(err)
			}
		}
		st := must(s.Stats(ctx, o.crawl))(t)
		if want := (store.Stats{Seen: 2, Held: 2, Queues: 2, Active: 2}); st != want {
			t.Fatalf("got %+v; want %+v", st, want)
		}
		taken := must(s.Take(ctx, store.TakeRequest{Crawl: o.crawl}))(t)
		l := taken.Leases[0]
		blob := appendLong([]byte("-"), appendSettlement(nil, &store.Settlement{Key: l.Key, Token: l.Token}))
		id := fmt.Sprintf("settlement %5d", cap)
		for range 2 {
			c := &call{shard: int(l.Token >> tokenBits), script: scriptSettle, id: id, crawl: o.crawl, blob: blob}
			must(true, s.run(ctx, []*call{c}, false))(t)
			if c.reply != "S" {
				t.Fatalf("got answer %q; want settled", c.reply)
			}
		}
	}
}

// TestTheSweeperFinishesSteps leaves adds between their two steps. A daemon finishes them in the background when they are old enough.
func TestTheSweeperFinishesSteps(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 1)
	o.recoverAfter = 300 * time.Millisecond
	s := open(t, o)
	defer s.Close()
	begin(t, s, store.AddOptions{}, testItems(0, 3)...)
	begin(t, s, store.AddOptions{MaxPerQueue: 5}, testItems(3, 2)...)
	hang.Until(t, "the sweeper has finished the steps", func() bool {
		together, others := outboxes(t, s)
		return together+others == 0
	})
	wantHeld(t, s, 5)
	if n := len(takeAll(t, s)); n != 5 {
		t.Fatalf("got %d leases; want 5", n)
	}
}

// TestAFinishedStepIsKnownForLong lets the time pass for which answers are kept, before what a step
// left in its outbox is found.
func TestAFinishedStepIsKnownForLong(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	for name, add := range map[string]func(t *testing.T, s *Store, it store.Item) []*step{
		"add": func(t *testing.T, s *Store, it store.Item) []*step {
			o := begin(t, s, store.AddOptions{}, it)
			left := onlyLeftover(t, s, it.Key)
			for range 2 { // the second time as after a lost answer
				must(true, o.queue(t.Context()))(t)
			}
			return left
		},
		"settle": func(t *testing.T, s *Store, it store.Item) []*step {
			st := &step{key: it.Key, mode: 'f', entry: s.entryOf(store.DefaultCrawl, &store.Settlement{Key: it.Key, Queue: it.Queue, Create: true, Outcome: store.Requeue})}
			must(true, s.begin(t.Context(), "c", stepMove, []*step{st}))(t)
			left := onlyLeftover(t, s, it.Key)
			must(true, s.deliver(t.Context(), "c", []*step{st}))(t)
			return left
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, testOptions(addr, 8))
			defer s.Close()
			left := add(t, s, testItem(1, "a"))
			once(t, s)
			pass(t, s, s.opt.answersFor())
			must(true, s.deliver(t.Context(), "c", left))(t)
			if st := must(s.Stats(t.Context(), "c"))(t); st.Held != 0 || st.Completed != 1 {
				t.Fatalf("got %+v; want it completed once", st)
			}
		})
	}
}

// onlyLeftover reads the one step that is in the outbox of a key's home.
func onlyLeftover(t *testing.T, s *Store, key store.Key) []*step {
	t.Helper()
	shard, _ := s.layout.ofKey(&key)
	var steps []*step
	must(true, pages(t.Context(), s.ask, scriptLeftovers, shard, "c", appendUint(nil, 6, 0), func(r *reader) bool {
		for r.more() {
			steps = append(steps, readStep(r.key(), r))
		}
		return true
	}))(t)
	if len(steps) == 0 {
		t.Fatal("got no step; want one")
	}
	return steps
}

// pass has the answers that are kept grow older.
func pass(t *testing.T, s *Store, d time.Duration) {
	t.Helper()
	ctx, redis := t.Context(), only(t, s)
	for _, key := range must(redis.Keys(ctx, s.opt.Prefix+"*").Result())(t) {
		if left := must(redis.PTTL(ctx, key).Result())(t); left > 0 {
			must(redis.PExpire(ctx, key, left-d).Result())(t)
		}
	}
}

// shardOutOfReach leaves adds half done, and kills a master and its replica: a shard out of reach holds up its own steps alone.
func shardOutOfReach(t *testing.T, c *rediscluster.Cluster) {
	must(true, c.WaitHealthy(hang.Context(t)))(t)
	s := open(t, Options{Addrs: c.Addrs(), Prefix: "reach:", Shards: 2, Replicas: -1, recoverAfter: time.Hour})
	defer s.Close()
	ctx := t.Context()
	var queues [2]string // by shard
	for i := 0; queues[0] == "" || queues[1] == ""; i++ {
		name := fmt.Sprint("q", i)
		shard, _ := s.layout.ofQueue(store.DefaultCrawl, name)
		queues[shard] = name
	}
	var sent [2]int // from shard 0, to that shard
	for i := 0; sent[0] < 3 || sent[1] < 3; i++ {
		it := testItem(i, queues[i%2])
		if home, _ := s.layout.ofKey(&it.Key); home != 0 {
			continue
		}
		begin(t, s, store.AddOptions{}, it)
		sent[i%2]++
	}
	tag := s.layout.bases[1][len(s.opt.Prefix)+1:]
	lost := must(c.Master(ctx, int(crc16(tag[:len(tag)-1])%slots)))(t)
	replica := must(c.Replica(ctx, lost))(t)
	must(true, c.Nodes[replica].Kill())(t)
	must(true, c.Nodes[lost].Kill())(t)
	s.opt.RetryFor = time.Second
	hang.Until(t, "the steps of the other shard are finished", func() bool { // starved, it may be out of reach for a while, too
		if err := s.sweep(ctx, 0); err == nil {
			t.Fatal("got no error from a shard that is out of reach; want one")
		}
		info, _, _ := s.queueInfo(ctx, "c", queues[0])
		return info.Held == int64(sent[0])
	})
	must(true, c.Nodes[lost].Restart(ctx))(t)
	must(true, c.Nodes[replica].Restart(ctx))(t)
}

// TestAnswersOutliveRecovery holds the times of a store to each other.
func TestAnswersOutliveRecovery(t *testing.T) {
	o := must(Options{Addrs: []string{"x"}, RetryFor: time.Second}.withDefaults())(t)
	if o.recoverAfter <= o.RetryFor || o.answersFor() <= o.recoverAfter+o.RetryFor {
		t.Errorf("got %v, %v, %v; want them to outlive each other", o.RetryFor, o.recoverAfter, o.answersFor())
	}
}

// TestPendingIsNeitherNewNorDuplicate offers a key that a capped add has yet to
// decide.
func TestPendingIsNeitherNewNorDuplicate(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 8)
	s := open(t, o)
	defer s.Close()
	ctx := t.Context()
	first := begin(t, s, store.AddOptions{MaxPerQueue: 1}, testItem(1, "a"))
	if second := begin(t, s, store.AddOptions{}, first.items...); len(second.pending) != 1 {
		t.Fatalf("got pending %v; want one", second.pending)
	}
	v := must(s.Add(ctx, "c", first.items, store.AddOptions{}))(t)
	if v[0].Status != store.Duplicate {
		t.Fatalf("got %v; want a duplicate: the daemon that met the step has finished it", v)
	}
	if err := first.queue(ctx); err != nil || first.verdicts[0].Status != store.New {
		t.Fatalf("got %v, %v; want new: it was the first", first.verdicts, err)
	}
}

// TestNoAnswerWithoutReplica asks for a replica where there is none, for new keys and known
// ones.
func TestNoAnswerWithoutReplica(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 8)
	s := open(t, o)
	must(s.Add(t.Context(), "c", []store.Item{testItem(1, "a")}, store.AddOptions{}))(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.Replicas, o.waitTimeout, o.MustExist = 1, 20*time.Millisecond, true
	if _, err := Open(t.Context(), o); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "min-replicas-to-write") {
		t.Fatalf("got error %v at open; want %v, and what to set", err, store.ErrInvalid)
	}
	o.Replicas = -1
	s = open(t, o)
	defer s.Close()
	s.opt.Replicas, s.opt.RetryFor = 1, 50*time.Millisecond // after Open, which a busy server may answer late
	for name, n := range map[string]int{"new": 2, "known": 1} {
		if _, err := s.Add(t.Context(), "c", []store.Item{testItem(n, "a")}, store.AddOptions{}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got error %v for a %s key; want %v", err, name, store.ErrUnavailable)
		}
		fresh := make([]bool, 1)
		if err := s.See(t.Context(), "c", []store.Key{testItem(n, "").Key}, fresh, store.SeeOptions{}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got error %v for seeing a %s key; want %v", err, name, store.ErrUnavailable)
		}
	}
	forced := testItem(1, "a")
	forced.Force = true
	for name, it := range map[string]store.Item{"full crawl": testItem(1, "a"), "forced URL": forced} {
		if _, err := s.Add(t.Context(), "c", []store.Item{it}, store.AddOptions{MaxHeld: 1}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got error %v for a known key, %s; want %v", err, name, store.ErrUnavailable)
		}
	}
}

// TestATakeSentAgain sends a take twice, as after a lost answer: the leases are given back, and the URLs leased once more by
// the same call of Take. It counts one lease, and a lease that was given to another in the meantime stays.
func TestATakeSentAgain(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	ctx := t.Context()
	for _, crawl := range []string{"c", "d"} {
		items := []store.Item{testItem(1, "a"), testItem(2, "b"), testItem(3, "b")}
		items[1].Meta = []byte("meta")
		must(s.Add(ctx, crawl, items, store.AddOptions{}))(t)
	}
	tk := &taking{s: s, shards: []shardTaking{{urls: 10}}, crawl: "*", req: store.TakeRequest{MaxURLs: 10, MaxPerQueue: 2, Lease: time.Hour}}
	c := &call{script: scriptTake, id: "take of 16 bytes", crawl: "*", blob: tk.appendRequest(nil, 0)}
	must(true, s.run(ctx, []*call{c}, false))(t)
	again := *c
	again.done = false
	must(true, s.run(ctx, []*call{&again}, false))(t)
	if !lost(&again) || lost(c) {
		t.Fatalf("got %.1q and again %.1q; want leases, and that they were given before", c.reply, again.reply)
	}
	if n := len(must(s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 10, MaxPerQueue: 2}))(t).Leases); n != 0 {
		t.Fatalf("got %d leases; want none before the others are given back", n)
	}
	s.idle.changes.Add(1)
	s.giveBack(ctx, []*call{&again})
	taken := must(s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 10, MaxPerQueue: 2, Lease: time.Hour}))(t)
	for _, l := range taken.Leases {
		if l.Attempts != 1 || l.URL == "" {
			t.Fatalf("got %+v; want the whole URL and one attempt", l)
		}
	}
	if len(taken.Leases) != 6 {
		t.Fatalf("got %d leases; want 6", len(taken.Leases))
	}
	s.idle.changes.Add(1)
	s.giveBack(ctx, []*call{&again})
	if n := len(must(s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 10, MaxPerQueue: 2}))(t).Leases); n != 0 {
		t.Fatalf("got %d leases; want none: another has them", n)
	}
}

// TestATakeOfSlowServersEnds holds that a take does not ask further shards while its first leases run out: it returns what it
// has, and that there is more.
func TestATakeOfSlowServersEnds(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 8)
	o.waitTimeout = 1 // any server is slow
	s := open(t, o)
	defer s.Close()
	const urls = 40
	for i := range urls {
		must(s.Add(t.Context(), "c", []store.Item{testItem(i, fmt.Sprint("host", i))}, store.AddOptions{}))(t)
	}
	left := urls
	for takes := 0; left > 0; takes++ {
		taken := must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: urls, MaxQueues: urls, Lease: time.Hour}))(t)
		n := len(taken.Leases)
		if left -= n; n == 0 || n == urls || left > 0 && taken.Next.After(time.Now()) {
			t.Fatalf("got %d leases in take %d, and the next at %v; want those of a shard, and that there are more", n, takes, taken.Next)
		}
	}
}

// TestQueuesThatShareAHash makes two queues with the same hash, as chance may: both take URLs, and a deletion of one leaves the
// other.
func TestQueuesThatShareAHash(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 8))
	defer s.Close()
	ctx := t.Context()
	_, h := s.layout.ofQueue(store.DefaultCrawl, "a")
	items := []store.Item{testItem(1, "a"), testItem(2, "b")}
	var list []*step
	for i := range items {
		list = append(list, &step{key: items[i].Key, entry: appendItem(nil, &items[i], h)})
	}
	must(true, s.carryOut(ctx, "c", stepMove, list))(t)
	if st := must(s.Stats(ctx, "c"))(t); st.Held != 2 || st.Queues != 2 {
		t.Fatalf("got %+v; want two queues of one URL", st)
	}
	must(s.Forget(ctx, store.Selection{Crawl: "c", Queue: "a"}))(t)
	if st := must(s.Stats(ctx, "c"))(t); st.Held != 1 || st.Seen != 1 {
		t.Fatalf("got %+v; want the other's URL", st)
	}
}
