// Command redis measures the store in Redis Cluster beside simpler ways to use the same servers, in
// one run on one machine: three masters with a replica each, real processes on loopback, with
// append-only files synced every second.
//
// Our store adds URLs to the seen-set and the queue in one step, and waits for a replica before each
// answer. The rivals do not wait. HSETNX and SADD keep no queue; the script keeps one without
// leases. So the difference is the cost of the promises. Each rival gets the same stream in the same
// batches from the same number of callers. The rivals speak RESP themselves, without the cost of a
// client library.
//
// The times are of a machine that runs servers, replicas and load on the same cores:
// compare rows, not machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/rediscluster"
)

// settings are the flags.
type settings struct {
	length         time.Duration
	batch, callers int
	fresh          int
	known, memory  int
	shards         int
	only           string
	engine         string
	commands       bool
}

func main() {
	var s settings
	flag.DurationVar(&s.length, "length", 4*time.Second, "how long each engine runs")
	flag.IntVar(&s.batch, "batch", 8000, "URLs of a batch")
	flag.IntVar(&s.callers, "callers", 8, "batches under way at once")
	flag.IntVar(&s.fresh, "new", 30, "how many of 100 URLs offered are new")
	flag.IntVar(&s.known, "known", 100_000, "keys that are there before")
	flag.IntVar(&s.memory, "memory", 200_000, "keys to measure memory with")
	flag.IntVar(&s.shards, "shards", 64, "shards of our store")
	flag.StringVar(&s.only, "only", "", "rates or memory; both if not given")
	flag.StringVar(&s.engine, "engine", "", "what the name of an engine must hold to be measured; all if not given")
	flag.BoolVar(&s.commands, "commands", false, "show what the masters' commands took, by command")
	flag.Parse()
	if err := run(context.Background(), s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(3)
	}
}

func run(ctx context.Context, s settings) (err error) {
	c, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if s.only != "memory" {
		if err := rates(ctx, s, c); err != nil {
			return err
		}
	}
	if s.only != "rates" {
		return weights(ctx, s, c)
	}
	return nil
}

func rates(ctx context.Context, s settings, c *rediscluster.Cluster) error {
	fmt.Println("| engine | URLs/s | to ours | server µs/URL | client µs/URL | network B/URL |\n|---|--:|--:|--:|--:|--:|")
	first := 0.0
	for _, e := range engines(s) {
		if !strings.Contains(e.name, s.engine) {
			continue
		}
		r, err := measure(ctx, s, c, e)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", e.name, err)
		}
		if first == 0 {
			first = r.rate()
		}
		fmt.Printf("| %s | %.0f | %.2f | %.2f | %.2f | %.0f |\n", e.name, r.rate(), r.rate()/first, r.per(r.servers), r.per(r.client), float64(r.network)/float64(r.urls))
	}
	return nil
}

func weights(ctx context.Context, s settings, c *rediscluster.Cluster) error {
	fmt.Println("\n| seen-set | keys | bytes a key and copy |\n|---|--:|--:|")
	for _, m := range memories(s) {
		bytes, keys, err := weigh(ctx, s, c, m)
		if err != nil {
			return fmt.Errorf("cannot weigh %s: %w", m.name, err)
		}
		fmt.Printf("| %s | %d | %.1f |\n", m.name, keys, bytes/float64(keys))
	}
	return nil
}

// empty empties the cluster.
func empty(ctx context.Context, c *rediscluster.Cluster) error {
	for _, n := range c.Nodes[:3] {
		if _, err := n.Do(ctx, "FLUSHALL"); err != nil {
			return err
		}
	}
	return c.WaitHealthy(ctx)
}

// rewrite rewrites the append-only files: the servers do so whenever one has doubled, in a process of
// its own, and which engine that meets would be chance.
func rewrite(ctx context.Context, c *rediscluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, n := range c.Nodes {
		if err := rewritten(ctx, n); err != nil {
			return err
		}
		if _, err := n.Do(ctx, "BGREWRITEAOF"); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := rewritten(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// rewritten waits until a node rewrites no append-only file.
func rewritten(ctx context.Context, n *rediscluster.Node) error {
	for {
		info, err := n.Info(ctx, "persistence")
		if err != nil || info["aof_rewrite_in_progress"] == "0" && info["aof_rewrite_scheduled"] == "0" {
			return err
		}
		if err := async.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// measure runs an engine on an empty cluster.
func measure(ctx context.Context, s settings, c *rediscluster.Cluster, e engine) (r result, err error) {
	if err := empty(ctx, c); err != nil {
		return r, err
	}
	run, err := e.prepare(ctx, c)
	if err != nil {
		return r, err
	}
	if err := rewrite(ctx, c); err != nil {
		return r, err
	}
	if err := forgetCommands(ctx, c); err != nil {
		return r, err
	}
	before, err := usage(ctx, c)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if r.urls, err = run(ctx, began.Add(s.length)); err != nil {
		return r, err
	}
	r.wall = time.Since(began)
	if s.commands {
		if err := showCommands(ctx, c, r.urls); err != nil {
			return r, err
		}
	}
	after, err := usage(ctx, c)
	r.servers, r.client, r.network = after.servers-before.servers, after.client-before.client, after.network-before.network
	return r, err
}

func start(ctx context.Context) (*rediscluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return rediscluster.Start(ctx, rediscluster.Options{Masters: 3, ReplicasEach: 1, NodeTimeout: 5 * time.Second})
}

// result is what an engine did.
type result struct {
	urls            int64
	wall            time.Duration
	servers, client time.Duration // CPU
	network         int64         // bytes into and out of the masters
}

func (r result) rate() float64 { return float64(r.urls) / r.wall.Seconds() }

func (r result) per(d time.Duration) float64 { return float64(d.Microseconds()) / float64(r.urls) }
