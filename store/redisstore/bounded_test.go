package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// perScript is how many commands one script call may make in a shard of any size: some for each of maxPart URLs.
const perScript = 16 * maxPart

// TestScriptsAreBounded does everything that used to read a whole shard, on a shard with many queues and keys that
// are all due at once, and counts the commands of each script call and its processor time. FIRSTSEEN_TORTURE_N is the
// number of queues in thousands; in the torture there are ten keys for each. The time is printed, not judged.
func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	thousands, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N"))
	if err != nil {
		thousands = 3
	}
	o := testOptions(rediscluster.Single(t), 1)
	o.waitTimeout = time.Minute // after which a take ends with what it has
	s := open(t, o)
	defer s.Close()
	ctx, queues := t.Context(), 1000*thousands
	server := only(t, s)
	var items []store.Item
	for i := range queues {
		items = append(items, testItem(i, fmt.Sprint("q", i)))
		if len(items) == 5000 || i == queues-1 {
			must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
			items = items[:0]
		}
	}
	keysEach := 50 * thousands
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		keysEach *= 10
	}
	for k := range 20 { // keys without queues, of days ago
		keys := make([]store.Key, keysEach)
		for i := range keys {
			for j := range keys[i] {
				keys[i][j] = byte(rand.Uint32() >> (k % 8))
			}
		}
		must(true, s.See(ctx, "c", keys, make([]bool, len(keys)), store.SeeOptions{}))(t)
	}
	meter := &scriptMeter{from: server, took: map[string][]time.Duration{}}
	server.AddHook(meter)
	measure := func(name string, do func() error) {
		t.Helper()
		before, calls := commandsOf(t, s)
		meter.begin(name)
		if err := do(); err != nil {
			t.Fatal(name, err)
		}
		after, callsAfter := commandsOf(t, s)
		if n := callsAfter - calls; n > 0 {
			t.Logf("%-28s %5d script calls, %5d commands each", name, n, (after-before)/n)
			if (after-before)/n > perScript {
				t.Errorf("%s: got %d commands for each script call; want at most %d", name, (after-before)/n, perScript)
			}
		}
		meter.begin("")
	}
	delay, one, lease := time.Second, 1, time.Second
	measure("take of one, all due", func() error {
		_, err := s.Take(ctx, store.TakeRequest{Crawl: "c", Lease: lease, Delay: 50 * time.Millisecond})
		return err
	})
	many := make([]store.Item, 3000)
	for i := range many {
		many[i] = testItem(i, "one")
	}
	must(s.Add(ctx, "d", many, store.AddOptions{}))(t)
	measure("take of one long queue", func() error {
		taken, err := s.Take(ctx, store.TakeRequest{Crawl: "d", MaxURLs: len(many), MaxPerQueue: len(many), Delay: time.Hour})
		if len(taken.Leases) != len(many) {
			t.Errorf("got %d URLs; want all %d", len(taken.Leases), len(many))
		}
		return err
	})
	if n := len(meter.took["take of one long queue"]); n < len(many)/maxPart {
		t.Errorf("got %d URLs of one queue in %d script calls; want at most %d in each", len(many), n, maxPart)
	}
	must(s.Add(ctx, "e", eights(512), store.AddOptions{}))(t)
	measure("take of eight of each queue", func() error {
		taken, err := s.Take(ctx, store.TakeRequest{Crawl: "e", MaxURLs: 512, MaxPerQueue: 8})
		if len(taken.Leases) != 512 {
			t.Errorf("got %d URLs; want 512", len(taken.Leases))
		}
		return err
	})
	items = items[:0]
	for i := range 3 * queues {
		items = append(items, testItem(i, fmt.Sprint("q", i/3)))
		if len(items) == 3000 || i == 3*queues-1 {
			must(s.Add(ctx, "f", items, store.AddOptions{}))(t)
			items = items[:0]
		}
	}
	for left := 2 * queues; left > 0; { // each queue gets two leases, and keeps a URL
		taken := must(s.Take(ctx, store.TakeRequest{Crawl: "f", MaxURLs: 1000, MaxInFlight: 2, Lease: time.Hour}))(t)
		if left -= len(taken.Leases); len(taken.Leases) == 0 {
			t.Fatalf("nothing is due, and %d are left", left)
		}
	}
	measure("take past bounds of leases", func() error {
		taken, err := s.Take(ctx, store.TakeRequest{Crawl: "f", MaxInFlight: 2})
		if len(taken.Leases) > 0 {
			t.Errorf("got %d URLs of queues that have two leases", len(taken.Leases))
		}
		return err
	})
	measure("take within a bound of leases", func() error {
		taken, err := s.Take(ctx, store.TakeRequest{Crawl: "f", MaxInFlight: 3})
		if len(taken.Leases) != 1 {
			t.Errorf("got %d URLs; want one", len(taken.Leases))
		}
		return err
	})
	measure("delay of the crawl", func() error { return s.Configure(ctx, "c", "", store.QueueChange{Delay: &delay}) })
	measure("bound of the store", func() error { return s.Configure(ctx, "*", "", store.QueueChange{MaxInFlight: &one}) })
	measure("take of all", func() error {
		for left := queues - 1; left > 0; {
			taken, err := s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 1000, Lease: lease})
			if err != nil {
				return err
			}
			if left -= len(taken.Leases); len(taken.Leases) == 0 {
				return fmt.Errorf("nothing is due, and %d are left", left)
			}
		}
		return nil
	})
	time.Sleep(lease + delay)
	measure("take after all ran out", func() error {
		_, err := s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 10})
		return err
	})
	measure("state of a queue", func() error { _, err := s.QueueInfo(ctx, "c", "q1"); return err })
	measure("forget by age", func() error {
		_, err := s.Forget(ctx, store.Selection{Crawl: "c", Before: time.Now().Add(-100 * day)})
		return err
	})
	measure("delete a queue", func() error {
		_, err := s.Forget(ctx, store.Selection{Crawl: "c", Queue: "q2"})
		return err
	})
	for name, d := range meter.took {
		slices.Sort(d)
		t.Logf("%-28s %5d scripts, of the server's processor: median %v, 95 in 100 at most %v, longest %v", name, len(d), d[len(d)/2], d[len(d)*95/100], d[len(d)-1])
	}
}

// eights returns URLs of queues that have eight each.
func eights(n int) (items []store.Item) {
	for i := range n {
		items = append(items, testItem(i, fmt.Sprint("eight", i/8)))
	}
	return items
}

// scriptMeter measures the processor time that a server spends on each script call. Its slow log would count the time in which a
// busy machine runs other programs as well.
type scriptMeter struct {
	mu   sync.Mutex // held during a call, so that calls of other goroutines are not counted with it
	from *redis.Client
	name string // of the present operation; "": nothing is measured
	took map[string][]time.Duration
}

// begin counts the next calls under a name, or not at all.
func (m *scriptMeter) begin(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name = name
}

func (m *scriptMeter) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (m *scriptMeter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (m *scriptMeter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.name == "" || len(cmds) != 1 {
			return next(ctx, cmds)
		}
		before := m.used(ctx)
		err := next(ctx, cmds)
		m.took[m.name] = append(m.took[m.name], m.used(ctx)-before)
		return err
	}
}

// used is the processor time of the thread that runs scripts.
func (m *scriptMeter) used(ctx context.Context) (sum time.Duration) {
	info := m.from.InfoMap(ctx, "cpu").Val()["CPU"]
	for _, f := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		d, _ := time.ParseDuration(info[f] + "s")
		sum += d
	}
	return sum
}

// commandsOf returns how many commands a server has carried out, and how many of them were scripts.
func commandsOf(t *testing.T, s *Store) (all, scripts int) {
	t.Helper()
	for line := range strings.Lines(must(only(t, s).Info(t.Context(), "commandstats").Result())(t)) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(rest, ",")
		n := must(strconv.Atoi(text))(t)
		all += n
		if name == "evalsha" {
			scripts += n
		}
	}
	return all, scripts
}
