package redisstore

import (
	"context"
	"maps"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Each shard reports with its leases how many of its queues hold something, what holds them back, and when that changes (lua/state.lua). This file
// adds that up: for the answer of a take that found nothing, and for the limit of a crawl, whose pages are in all shards.
//
// No shard knows how much of a crawl the others have fetched and leased. So a take sends each shard the sum of the others' last
// answers, and how many of their leases ran out, since a crawl beyond its limit hands these out again up to it. The sum misses what
// other daemons have leased since, or settled late: the limit can be exceeded by that much. A take with less room than it wants asks the shards
// one at a time.

// limited is a crawl with a limit, by shard.
type limited struct {
	limit  int64
	shards []limitedShard
	end    int64 // of the first lease in any shard, when a take counted the leases that ran out; 0 for none
}

type limitedShard struct {
	sums
	gives   bool // some leases ran out, which may be handed out again
	closed  hold // the whole crawl is paused or blocked
	holding store.Holding
	runs    bool
	next    int64 // when there may be more, with room under the limit
	by      hold
	again   int64 // the same of leases that ran out
	byAgain hold
	end     int64 // of the first lease
}

// sums are what a shard has of a crawl.
type sums struct{ fetched, live, late int64 }

func (s sums) used() int64 { return s.fetched + s.live + s.late }

// readState reads the reply of lua/state.lua. Without all, it reads only the sums of crawls with a limit.
func (t *taking) readState(shard int, r *reader, all bool) {
	holding := func() store.Holding {
		return store.Holding{Queues: int64(r.uint(6)), Paused: int64(r.uint(6)), Limited: int64(r.uint(6)), Blocked: int64(r.uint(6))}
	}
	h, runs, by := holding(), r.uint(1) == 1, hold(r.uint(1))
	if all {
		t.shards[shard].holding, t.shards[shard].runs, t.shards[shard].by = h, runs, by
		for _, c := range t.limited {
			c.shards[shard] = limitedShard{sums: c.shards[shard].sums} // a take of all crawls hears only of those that hold something
		}
	}
	for r.more() {
		name := r.short()
		c := t.limited[name]
		if c == nil {
			c = &limited{shards: make([]limitedShard, t.s.opt.Shards)}
			t.limited[name] = c
		}
		c.limit = int64(r.uint(8))
		s := limitedShard{sums: sums{int64(r.uint(6)), int64(r.uint(6)), int64(r.uint(6))}, gives: r.uint(1) == 1, closed: hold(r.uint(1)), holding: holding(), runs: r.uint(1) == 1,
			next: int64(r.uint(6)), by: hold(r.uint(1)), again: int64(r.uint(6)), byAgain: hold(r.uint(1)), end: int64(r.uint(6))}
		if all {
			c.shards[shard] = s
		} else {
			c.shards[shard].sums = s.sums
			if s.end > 0 && (c.end == 0 || s.end < c.end) {
				c.end = s.end
			}
		}
	}
}

// mostLimited bounds the crawls with a limit of one take of all crawls; the others wait for their turn.
const mostLimited = 254

// limitedCrawls returns the names of crawls with a limit, as lua/ready.lua takes them, that this take or the last one met.
func (t *taking) limitedCrawls() (names []byte, known []string) {
	if t.crawl != sched.AnyCrawl {
		return nil, nil // each shard reports the crawl
	}
	known = slices.Collect(maps.Keys(t.limited))
	if before := t.s.limited.Load(); before != nil && len(known) == 0 {
		known = *before
	}
	known = known[:min(len(known), mostLimited)]
	for _, name := range known {
		names = appendShort(names, name)
	}
	return names, known
}

// metUnasked reports whether a shard reported a crawl with a limit for which not all shards were asked.
func (t *taking) metUnasked(known []string) bool {
	if t.crawl != sched.AnyCrawl {
		return false
	}
	now := slices.Collect(maps.Keys(t.limited))
	t.s.limited.Store(&now)
	return slices.ContainsFunc(now, func(name string) bool { return !slices.Contains(known, name) })
}

// but returns the sum of all shards but one, as they reported.
func (c *limited) but(one int) (sum sums) {
	for i := range c.shards {
		if s := &c.shards[i]; i != one {
			sum.fetched, sum.live, sum.late = sum.fetched+s.fetched, sum.live+s.live, sum.late+s.late
		}
	}
	return sum
}

// room is how many URLs may be leased before the limit is reached; pages is how many are neither fetched nor with a fetcher.
func (c *limited) room() (room, pages int64) {
	all := c.but(-1)
	return c.limit - all.used(), c.limit - all.fetched - all.live
}

// tight reports whether shards that are asked at the same time could exceed a limit.
func (t *taking) tight() bool {
	for _, c := range t.limited {
		if room, pages := c.room(); room != 0 && pages > 0 && room < int64(t.left()) {
			return true
		}
	}
	return false
}

// beyond reports whether a crawl is beyond its limit, but may get back below it by leases that run out.
func (t *taking) beyond() bool {
	for _, c := range t.limited {
		if all := c.but(-1); c.limit < all.used() && c.limit > all.fetched && all.live > 0 {
			return true
		}
	}
	return false
}

// count has all shards note which leases have run out, which the first shard to give any must know. Leases of a shard that does not answer
// count as running.
func (t *taking) count(ctx context.Context) {
	all := taking{s: t.s, req: store.TakeRequest{MaxPerQueue: 1}, shards: make([]shardTaking, len(t.shards)), limited: t.limited}
	b := t.s.batch(scriptTake, t.crawl, nil).everywhere()
	for _, c := range b.calls {
		c.blob = all.appendRequest(c.blob, c.shard)
	}
	_ = t.s.run(ctx, b.calls, true)
	for _, c := range b.calls {
		if r := (reader{c.reply}); c.done && !lost(c) {
			r.bytes(11)
			t.readState(c.shard, &reader{r.long()}, false)
		}
	}
}

// appendLimited appends the crawls with a limit and their sums over all shards but one; see lua/serve.lua.
func (t *taking) appendLimited(dst []byte, but int) []byte {
	if t.s.opt.Shards == 1 {
		return append(dst, 255)
	}
	at, n := len(dst), 0
	dst = append(dst, 0)
	for name, c := range t.limited {
		if n++; n > mostLimited { // the others wait for the next take
			break
		}
		others := c.but(but)
		dst = appendUint(appendUint(appendShort(dst, name), 6, uint64(others.used())), 6, uint64(others.late))
	}
	dst[at] = byte(min(n, mostLimited))
	return dst
}

// rest sets the fields of the answer besides its leases.
func (t *taking) rest(ctx context.Context, taken *store.Taken) error {
	next, by := int64(sched.Never), free
	sooner := func(at int64, of hold) {
		switch {
		case at == 0:
			return
		case at == stopped:
			at = sched.Now(t.s.wallTime())
		}
		if at < next {
			next, by = at, of
		}
	}
	var sum store.Holding
	runs, silent := false, false
	for i := range t.shards {
		sh := &t.shards[i]
		sooner(sh.next, sh.by)
		sum, runs, silent = sched.SumOf(sum, sh.holding), runs || sh.runs, silent || sh.silent
	}
	for _, c := range t.limited {
		holding, crawlRuns := c.rest(sooner)
		sum, runs = sched.SumOf(sum, holding), runs || crawlRuns
	}
	taken.Next = sched.Time(next)
	if len(taken.Leases) > 0 {
		return nil
	}
	taken.State, taken.Holding = sched.StateOf(sum, runs, by == blocked), sum
	if taken.State == store.Finished && t.req.Queue == "" { // or is a URL on its way to its queue?
		by, err := t.s.statsBy(ctx, t.crawl)
		if err != nil {
			return err
		}
		for _, st := range by {
			runs = runs || st.Held > 0
		}
		if runs {
			taken.State = store.Waiting
		}
	}
	if silent && taken.State != store.Blocked {
		taken.State = store.Delayed
	}
	return nil
}

// rest returns what holds back the queues of a crawl, and whether a lease runs. It calls sooner with the time when there may be more.
func (c *limited) rest(sooner func(int64, hold)) (sum store.Holding, runs bool) {
	gives, closed := false, free
	for i := range c.shards {
		s := &c.shards[i]
		sum, runs, gives = sched.SumOf(sum, s.holding), runs || s.runs, gives || s.gives
		if closed != paused && s.closed != free {
			closed = s.closed
		}
	}
	room, pages := c.room()
	serves := room > 0 || gives && pages > 0
	if room < 0 && gives {
		sooner(c.end, free)
	}
	for i := range c.shards {
		switch s := &c.shards[i]; {
		case room > 0:
			sooner(s.next, s.by)
		case serves:
			sooner(s.again, s.byAgain)
		}
		sooner(c.shards[i].end, free)
	}
	return sched.HeldBack(sum, closed == paused, serves, closed == blocked), runs
}
