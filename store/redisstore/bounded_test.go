package redisstore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// perScript is how many commands one script call may make in a shard of any size: some for each of maxPart URLs.
const perScript = 16 * maxPart

// TestScriptsAreBounded does everything that used to read a whole shard, on a shard with many queues and keys that
// are all due at once, and counts the commands of each script call and its time. FIRSTSEEN_TORTURE_N is the number
// of queues in thousands; in the torture there are ten keys for each. The time is printed, not judged.
func TestScriptsAreBounded(t *testing.T) {
	thousands, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N"))
	if err != nil {
		thousands = 6
	}
	s := open(t, testOptions(rediscluster.Single(t, "slowlog-log-slower-than 0", "slowlog-max-len 20000"), 1))
	defer s.Close()
	ctx, queues := t.Context(), 1000*thousands
	redis := s.nodes.single
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
	worst := map[string]time.Duration{}
	measure := func(name string, do func() error) {
		t.Helper()
		before, calls := commandsOf(t, s)
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
		for _, l := range must(redis.SlowLogGet(ctx, 20000).Result())(t) {
			if strings.HasPrefix(strings.ToLower(l.Args[0]), "evalsha") {
				worst[name] = max(worst[name], l.Duration)
			}
		}
		redis.SlowLogReset(ctx)
	}
	delay, one, lease := time.Second, 1, time.Second
	measure("take of one, all due", func() error {
		_, err := s.Take(ctx, store.TakeRequest{Crawl: "c", Lease: lease, Delay: 50 * time.Millisecond})
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
	for name, d := range worst {
		t.Logf("%-28s longest script %v", name, d)
	}
}

// commandsOf returns how many commands a server has carried out, and how many of them were scripts.
func commandsOf(t *testing.T, s *Store) (all, scripts int) {
	t.Helper()
	for line := range strings.Lines(must(s.nodes.single.Info(t.Context(), "commandstats").Result())(t)) {
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
