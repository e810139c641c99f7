package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
)

// worthAsking is the number of keys of a wave from which on the cache is worth its question to
// the cluster, which costs about as much as offering so many.
const worthAsking = 16

// recall is what one wave of a step has from the cache.
type recall struct {
	s      *Store
	crawl  string
	before remembered // what the wave learns is remembered by this
	usable bool       // there is such
	hits   []int
	asked  bool
}

// recall divides a wave into keys that the cache has, in hits, and others, in left.
// Without a cache all are left.
func (s *Store) recall(crawl string, n int, key func(i int) *store.Key) (r *recall, left []int) {
	r = &recall{s: s, crawl: crawl}
	if s.cache == nil {
		return r, numbers(n)
	}
	r.before, r.usable = s.cache.of(crawl)
	for i := range n {
		if r.usable && s.cache.has(r.before, key(i)) {
			r.hits = append(r.hits, i)
		} else {
			left = append(left, i)
		}
	}
	if len(r.hits) < worthAsking {
		r.hits, left = nil, numbers(n)
	}
	return r, left
}

// ask asks in the first try of the wave which epoch it is, while the rest is on its way. What it
// returns waits for the answer, and gives those hits that don't hold: all, if there is none.
func (r *recall) ask(ctx context.Context) (told func() (fallen []int)) {
	if r.s.cache == nil || r.asked || r.usable && len(r.hits) == 0 {
		return func() []int { return nil }
	}
	r.asked = true
	c := r.s.epochCall(requestID{}, r.crawl, '?')
	var wg sync.WaitGroup
	wg.Go(func() {
		for try := 0; try < 2 && !c.done && c.verdict == retry; try++ {
			r.s.attempt(context.WithoutCancel(ctx), []*call{c})
		}
	})
	return func() []int {
		wg.Wait()
		return r.judge(c)
	}
}

func (r *recall) judge(c *call) (fallen []int) {
	if c.done {
		epoch, forgetting, err := readEpoch(c.reply)
		if err == nil {
			r.s.cache.learn(r.crawl, epoch, forgetting)
		}
		if err == nil && !forgetting && r.usable && epoch == r.before.epoch {
			return nil
		}
	}
	fallen, r.hits, r.usable = r.hits, nil, false
	return fallen
}

// remember notes that a key is known, and that this was answered.
func (r *recall) remember(key *store.Key) {
	if r.usable {
		r.s.cache.put(r.before, key)
	}
}

// epochCall is a call of lua/epoch.lua. A question isn't kept for a retry: the answer
// may change.
func (s *Store) epochCall(id requestID, crawl string, what byte) *call {
	blob := appendUint([]byte{what}, 6, uint64(s.opt.RecoverAfter.Milliseconds()))
	return &call{shard: storeShard, script: scriptEpoch, id: id, crawl: crawl, blob: append(blob, id[:]...)}
}

func readEpoch(reply string) (epoch uint64, forgetting bool, err error) {
	r := reader{reply}
	epoch, forgetting = r.uint(7), r.uint(1) == 1
	return epoch, forgetting, r.err()
}

// forgetting is a Forget in progress, of one crawl.
type forgetting struct {
	*Store
	crawl     string
	id        requestID
	announced time.Time
	sum       int64  // keys forgotten
	cursor    string // among the leases of a shard; see lua/dead.lua
}

// announce notifies the daemons that keys are about to be forgotten, for RecoverAfter from then on:
// their caches don't answer in the meantime. The announced work must begin immediately, and take no longer
// than RetryFor.
func (f *forgetting) announce(ctx context.Context) error {
	began := time.Now()
	if began.Sub(f.announced) < (f.opt.RecoverAfter-f.opt.RetryFor)/2 {
		return nil
	}
	c := f.epochCall(f.id, f.crawl, '+')
	c.id = f.requests.id()
	f.announced = began
	return f.run(ctx, []*call{c})
}

// conclude begins a new epoch: what caches learned before isn't found any more.
func (f *forgetting) conclude(ctx context.Context) error {
	c := f.epochCall(f.id, f.crawl, '-')
	c.id = f.requests.id()
	return f.run(ctx, []*call{c})
}
