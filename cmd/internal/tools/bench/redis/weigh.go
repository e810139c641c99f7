package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

func sha(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// memory is a way to keep keys, to be weighed: fill stores them.
type memory struct {
	name string
	each int // URLs a host
	fill func(ctx context.Context, c *rediscluster.Cluster, work [][]store.Item) error
}

func memories(s settings) []memory {
	plain := func(encode encodeBatch) func(context.Context, *rediscluster.Cluster, [][]store.Item) error {
		return func(ctx context.Context, c *rediscluster.Cluster, work [][]store.Item) error {
			pool, err := dialAll(ctx, c, 1)
			if err != nil {
				return err
			}
			links := <-pool
			for _, items := range work {
				if err := send(links, items, encode); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []memory{
		{"ours: added, fetched, completed; 400 URLs a host", 400, func(ctx context.Context, c *rediscluster.Cluster, work [][]store.Item) error {
			return withStore(ctx, c, s, func(st *redisstore.Store) error { return addAndComplete(ctx, st, s, work) })
		}},
		{"the same, 10 URLs a host", 10, func(ctx context.Context, c *rediscluster.Cluster, work [][]store.Item) error {
			return withStore(ctx, c, s, func(st *redisstore.Store) error { return addAndComplete(ctx, st, s, work) })
		}},
		{"ours: imported (See)", 400, func(ctx context.Context, c *rediscluster.Cluster, work [][]store.Item) error {
			return withStore(ctx, c, s, func(st *redisstore.Store) error { return see(ctx, st, work) })
		}},
		{"plain set (SADD)", 400, plain(saddBatch)},
		{"ours: queued, URL of 80 bytes; 400 URLs a host", 400, func(ctx context.Context, c *rediscluster.Cluster, work [][]store.Item) error {
			return withStore(ctx, c, s, func(st *redisstore.Store) error {
				_, err := each(ctx, s.callers, work, time.Time{}, func(ctx context.Context, items []store.Item) (int64, error) {
					_, err := st.Add(ctx, "", items, store.AddOptions{})
					return 0, err
				})
				return err
			})
		}},
	}
}

func withStore(ctx context.Context, c *rediscluster.Cluster, s settings, do func(*redisstore.Store) error) error {
	st, err := open(ctx, c, s, 1, -1)
	if err != nil {
		return err
	}
	return errors.Join(do(st), st.Close())
}

func see(ctx context.Context, st *redisstore.Store, work [][]store.Item) error {
	for _, items := range work {
		keys := make([]store.Key, len(items))
		for i := range items {
			keys[i] = items[i].Key
		}
		if err := st.See(ctx, "", keys, make([]bool, len(keys)), store.SeeOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// addAndComplete takes URLs through their life.
func addAndComplete(ctx context.Context, st *redisstore.Store, s settings, work [][]store.Item) error {
	_, err := each(ctx, s.callers, work, time.Time{}, func(ctx context.Context, items []store.Item) (int64, error) {
		_, err := st.Add(ctx, "", items, store.AddOptions{})
		return 0, err
	})
	for err == nil {
		var got store.Taken
		if got, err = st.Take(ctx, store.TakeRequest{MaxURLs: s.batch, MaxPerQueue: s.batch, Lease: time.Hour}); err != nil || len(got.Leases) == 0 {
			break
		}
		done := make([]store.Settlement, len(got.Leases))
		for i, l := range got.Leases {
			done[i] = store.Settlement{Key: l.Key, Token: l.Token}
		}
		_, err = st.Settle(ctx, "", done)
	}
	return err
}

// weigh fills an empty cluster with a third of the keys and then with the rest, and
// returns what the rest added to its nodes, by copy: half of the sum over masters and
// replicas. So what a store needs however small it is doesn't count, nor do answers that are kept
// for retries: they have gone by then.
func weigh(ctx context.Context, s settings, c *rediscluster.Cluster, m memory) (bytes float64, keys int, err error) {
	if err := empty(ctx, c); err != nil {
		return 0, 0, err
	}
	work := fresh(s, s.memory)
	for n, items := 0, work; len(items) > 0; items = items[1:] {
		for i := range items[0] {
			items[0][i].Queue = fmt.Sprintf("host-%d.example", n/m.each)
			n++
		}
	}
	before, err := fillAndWeigh(ctx, c, m, work[:len(work)/3])
	if err != nil {
		return 0, 0, err
	}
	after, err := fillAndWeigh(ctx, c, m, work[len(work)/3:])
	for _, items := range work[len(work)/3:] {
		keys += len(items)
	}
	return float64(after-before) / 2, keys, err
}

func fillAndWeigh(ctx context.Context, c *rediscluster.Cluster, m memory, work [][]store.Item) (int64, error) {
	if err := m.fill(ctx, c, work); err != nil {
		return 0, err
	}
	if err := answersGone(ctx, c); err != nil {
		return 0, err
	}
	return used(ctx, c)
}

func used(ctx context.Context, c *rediscluster.Cluster) (sum int64, err error) {
	for _, n := range c.Nodes {
		info, err := n.Info(ctx, "memory")
		if err != nil {
			return 0, err
		}
		all, err := strconv.ParseInt(info["used_memory"], 10, 64)
		if err != nil {
			return 0, err
		}
		// What isn't of the keys: buffers of clients and of replication.
		other, err := strconv.ParseInt(info["mem_not_counted_for_evict"], 10, 64)
		if err != nil {
			return 0, err
		}
		clients, err := strconv.ParseInt(info["mem_clients_normal"], 10, 64)
		if err != nil {
			return 0, err
		}
		backlog, err := strconv.ParseInt(info["mem_total_replication_buffers"], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += all - other - clients - backlog
	}
	return sum, nil
}

// dropAnswers deletes the answers that a master keeps, which would stay for minutes.
const dropAnswers = `for _, k in ipairs(redis.call('KEYS', '*}r*')) do
  if string.find(k, '^[^}]*}r') then redis.call('DEL', k) end
end`

// answersGone deletes the answers that are kept for retries, and waits until no node has a key with an
// end any more.
func answersGone(ctx context.Context, c *rediscluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	masters, err := c.Masters(ctx)
	if err != nil {
		return err
	}
	for _, i := range masters {
		if _, err := c.Nodes[i].Do(ctx, "EVAL", dropAnswers, "0"); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		for {
			info, err := n.Info(ctx, "keyspace")
			if err != nil {
				return err
			}
			var keys, expires int
			if _, err := fmt.Sscanf(info["db0"], "keys=%d,expires=%d", &keys, &expires); err != nil || expires == 0 {
				break // an empty node shows nothing
			}
			if err := async.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// spent is CPU time, and bytes that went into and out of the masters.
type spent struct {
	servers, client time.Duration
	network         int64
}

func usage(ctx context.Context, c *rediscluster.Cluster) (u spent, err error) {
	for i, n := range c.Nodes {
		info, err := n.Info(ctx, "everything")
		if err != nil {
			return u, err
		}
		for _, field := range []string{"total_net_input_bytes", "total_net_output_bytes", "total_net_repl_output_bytes"} {
			v, err := strconv.ParseInt(info[field], 10, 64)
			if err != nil {
				return u, fmt.Errorf("cannot read %s of %s: %w", field, n.Addr, err)
			}
			if i < 3 {
				u.network += v
			}
		}
		for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
			v, err := strconv.ParseFloat(info[field], 64)
			if err != nil {
				return u, err
			}
			u.servers += time.Duration(v * 1e9)
		}
	}
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return u, fmt.Errorf("cannot read CPU time: %w", err)
	}
	u.client = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	return u, nil
}
