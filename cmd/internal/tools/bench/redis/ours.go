package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// engine is a way to add URLs. prepare makes its store and known URLs on a
// cluster, and returns what adds until a time and counts.
type engine struct {
	name    string
	prepare func(ctx context.Context, c *rediscluster.Cluster) (func(ctx context.Context, until time.Time) (int64, error), error)
}

// streamBatches is how many batches a run has at most.
func streamBatches(s settings) int { return int(s.length.Seconds()*700_000) / s.batch }

func engines(s settings) []engine {
	work := batches(s, streamBatches(s))
	known := fresh(s, s.known)
	return []engine{
		ourAdd("ours: seen + queue, WAIT 1 before each answer", s, known, work, 1, -1),
		ourAdd("ours, without WAIT", s, known, work, -1, -1),
		ourAdd("ours, WAIT 1, a cache of 32 MiB", s, known, work, 1, 0),
		ourTake("ours: take + lease, WAIT 1", s, 1),
		rival("script: seen + queue, no WAIT, no leases", s, known, work, scriptBatch),
		rival("HSETNX in buckets of 64, pipelined, no WAIT", s, known, work, hsetnxBatch),
		rival("SADD plain sets, pipelined, no WAIT", s, known, work, saddBatch),
	}
}

func open(ctx context.Context, c *rediscluster.Cluster, s settings, replicas int, cache int64) (*redisstore.Store, error) {
	st, err := redisstore.Open(ctx, redisstore.Options{
		Addrs: c.Addrs(), Shards: s.shards, Replicas: replicas, CacheBytes: cache,
		RetryFor: 5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return st, st.Prepare(ctx, store.Terms{Identity: store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash"}})
}

func ourAdd(name string, s settings, known, work [][]store.Item, replicas int, cache int64) engine {
	return engine{name, func(ctx context.Context, c *rediscluster.Cluster) (func(context.Context, time.Time) (int64, error), error) {
		st, err := open(ctx, c, s, replicas, cache)
		if err != nil {
			return nil, err
		}
		add := func(ctx context.Context, items []store.Item) (int64, error) {
			_, err := st.Add(ctx, "", items, store.AddOptions{})
			return int64(len(items)), err
		}
		if _, err := each(ctx, s.callers, known, time.Time{}, add); err != nil {
			return nil, err
		}
		return func(ctx context.Context, until time.Time) (int64, error) {
			n, err := each(ctx, s.callers, work, until, add)
			return n, errors.Join(err, st.Close())
		}, nil
	}}
}

// ourTake takes leases of URLs in 20,000 queues, of which there are more than it can take: what
// is left at the end of a stock is in the few largest queues, four of each at a time.
func ourTake(name string, s settings, replicas int) engine {
	return engine{name, func(ctx context.Context, c *rediscluster.Cluster) (func(context.Context, time.Time) (int64, error), error) {
		st, err := open(ctx, c, s, replicas, -1)
		if err != nil {
			return nil, err
		}
		_, err = each(ctx, s.callers, fresh(s, int(s.length.Seconds()*150_000)), time.Time{}, func(ctx context.Context, items []store.Item) (int64, error) {
			_, err := st.Add(ctx, "", items, store.AddOptions{})
			return 0, err
		})
		if err != nil {
			return nil, err
		}
		turns := make([][]store.Item, 100_000)
		return func(ctx context.Context, until time.Time) (int64, error) {
			ctx, done := context.WithCancel(ctx)
			defer done()
			n, err := each(ctx, s.callers, turns, until, func(ctx context.Context, _ []store.Item) (int64, error) {
				got, err := st.Take(context.WithoutCancel(ctx), store.TakeRequest{MaxURLs: s.batch, MaxPerQueue: 4, Lease: time.Hour})
				if len(got.Leases) == 0 {
					done() // none are left
				}
				return int64(len(got.Leases)), err
			})
			return n, errors.Join(err, st.Close())
		}, nil
	}}
}

// each deals batches out to callers, until a time if it isn't zero, and sums what
// they did.
func each(ctx context.Context, callers int, work [][]store.Item, until time.Time, do func(context.Context, []store.Item) (int64, error)) (int64, error) {
	var next, sum atomic.Int64
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for ctx.Err() == nil && (until.IsZero() || time.Now().Before(until)) {
				at := next.Add(1) - 1
				if at >= int64(len(work)) {
					return
				}
				n, err := do(ctx, work[at])
				if sum.Add(n); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return sum.Load(), errors.Join(errs...)
}
