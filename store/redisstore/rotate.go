package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/firstseen/firstseen/store/internal/sched"
)

// rotate takes from all shards, beginning where the last call ended. First it asks
// which have something ready; then those are asked, all at once for the part of the
// request that can be dealt out, then one by one for the rest.
func (t *taking) rotate(ctx context.Context) error {
	ready, err := t.ready(ctx)
	if err != nil {
		return err
	}
	if n := len(ready); n > 1 && t.req.MaxQueues <= 0 && t.req.MaxURLs >= n {
		if err := t.from(ctx, scriptTake, t.deal(ready)); err != nil {
			return err
		}
		ctx = accepted(ctx)
	}
	for _, r := range ready {
		if t.full() {
			break
		}
		if t.spent[r.shard] {
			continue
		}
		if err := t.from(ctx, scriptTake, []share{t.rest(r.shard)}); err != nil {
			return err
		}
		t.s.turn.Store(uint64(r.shard) + 1)
		ctx = accepted(ctx)
	}
	if len(t.leases) >= t.req.MaxURLs || t.s.opt.Shards == 1 {
		return nil
	}
	return t.when(ctx)
}

// rest asks a shard for all that the request still wants.
func (t *taking) rest(shard int) share {
	sh := share{shard: shard, urls: min(maxTake, t.req.MaxURLs-len(t.leases)), more: t.served[shard]}
	if t.req.MaxQueues > 0 {
		sh.queues = t.req.MaxQueues - t.queues
	}
	return sh
}

func (t *taking) full() bool {
	return len(t.leases) >= t.req.MaxURLs || t.req.MaxQueues > 0 && t.queues >= t.req.MaxQueues
}

// readiness is how many queues of a shard may be worth asking, and the turn of the
// first of them.
type readiness struct {
	shard, queues int
	turn          uint64
}

// ready returns the shards worth asking, in turn.
func (t *taking) ready(ctx context.Context) ([]readiness, error) {
	n := t.s.opt.Shards
	if n == 1 {
		return []readiness{{queues: 1}}, nil
	}
	b := t.s.batch(scriptReady, requestID{}, t.crawl, nil).everywhere()
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	var list []readiness
	turn := int(t.s.turn.Load())
	for i := range n {
		shard := (turn + i) % n
		r := reader{b.at[shard].reply}
		if queues := int(r.uint(4)); queues > 0 {
			list = append(list, readiness{shard, queues, r.uint(7)})
		} else {
			r.uint(7)
		}
		t.turn = max(t.turn, r.uint(7))
	}
	slices.SortStableFunc(list, func(a, b readiness) int { return cmp.Compare(max(a.turn, t.turn), max(b.turn, t.turn)) })
	return list, nil
}

// deal gives shards their shares of the request by how much they have ready: so
// that the shares are never more than was asked for.
func (t *taking) deal(ready []readiness) []share {
	sum := 0
	for _, r := range ready {
		sum += r.queues
	}
	var shares []share
	for _, r := range ready {
		if n := t.req.MaxURLs * r.queues / sum; n > 0 {
			shares = append(shares, share{shard: r.shard, urls: min(n, maxTake), whole: true})
		}
	}
	return shares
}

// when asks all shards when there may be more, after what was taken.
func (t *taking) when(ctx context.Context) error {
	b := t.s.batch(scriptNext, requestID{}, t.crawl, nil).everywhere()
	for _, c := range b.calls {
		c.blob = t.appendRequest(c.blob, share{urls: 1})
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	t.next = sched.Never
	for _, c := range b.calls {
		if _, err := t.read(c.shard, c.reply); err != nil {
			return err
		}
	}
	return nil
}
