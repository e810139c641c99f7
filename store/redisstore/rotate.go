package redisstore

import (
	"cmp"
	"context"
	"slices"
)

// rotate takes from all shards, beginning where the last call ended. First it asks
// which have something ready; then those are asked, all together for the part of the
// request that can be dealt out, then one by one for the rest.
func (t *taking) rotate(ctx context.Context) error {
	ready, err := t.ready(ctx)
	if err != nil {
		return err
	}
	for before := -1; len(t.leases) > before && t.deals(len(ready)); {
		before = len(t.leases)
		if err := t.from(ctx, scriptTake, t.deal(ready)); err != nil {
			return err
		}
		ready = slices.DeleteFunc(ready, func(r readiness) bool { return t.spent[r.shard] })
		ctx = accepted(ctx)
	}
	for _, r := range ready {
		for !t.spent[r.shard] && !t.full() {
			if err := t.from(ctx, scriptTake, []share{t.rest(r.shard)}); err != nil {
				return err
			}
			t.s.turn.Store(uint64(r.shard) + 1)
			ctx = accepted(ctx)
		}
	}
	var asked []share
	for _, r := range ready {
		if !t.spent[r.shard] && !t.filled() { // MaxQueues is reached: may the others have something for the request?
			asked = append(asked, share{shard: r.shard, more: t.served[r.shard]})
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return t.from(ctx, scriptTake, asked)
}

// rest asks a shard for all that the request still wants.
func (t *taking) rest(shard int) share {
	left, bytes := t.left()
	sh := share{shard: shard, urls: min(t.most(), left), bytes: bytes, more: t.served[shard]}
	if t.req.MaxQueues > 0 {
		sh.queues = t.req.MaxQueues - t.queues
	}
	return sh
}

// left is what the request still wants: URLs, and bytes if it bounds them.
func (t *taking) left() (urls int, bytes int64) {
	if t.req.MaxBytes > 0 {
		bytes = t.req.MaxBytes - t.bytes
	}
	return t.req.MaxURLs - len(t.leases), bytes
}

// most is how many URLs one call takes from the queues of a shard: as many as a queue may give, at least.
func (t *taking) most() int { return max(maxDeal, t.req.MaxPerQueue) }

func (t *taking) full() bool { return t.filled() || t.req.MaxQueues > 0 && t.queues >= t.req.MaxQueues }

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
	if err := t.s.repeat(ctx, b.calls, true); err != nil {
		return nil, err
	}
	var list []readiness
	turn := int(t.s.turn.Load())
	for i := range n {
		shard := (turn + i) % n
		if !b.calls[shard].done {
			t.passOver(shard)
			continue
		}
		r := reader{b.calls[shard].reply}
		if ready := (readiness{shard, int(r.uint(4)), r.uint(7)}); ready.queues > 0 {
			list = append(list, ready)
		}
		t.turn = max(t.turn, r.uint(7))
		t.next[shard] = int64(r.uint(6))
	}
	slices.SortStableFunc(list, func(a, b readiness) int { return cmp.Compare(max(a.turn, t.turn), max(b.turn, t.turn)) })
	return list, nil
}

// leastShare is how many bytes a shard is asked for at least, where shards share a bound.
const leastShare = 16 << 10

// deals reports whether the request is large enough for that many shards to be dealt out.
func (t *taking) deals(shards int) bool {
	left, bytes := t.left()
	return shards > 1 && t.req.MaxQueues <= 0 && left >= shards && (t.req.MaxBytes == 0 || bytes >= int64(shards)*leastShare)
}

// deal divides the request among shards by how much they have ready: so
// that the shares are never more than was asked for. A share is of whole queues where it
// can be, and what that leaves over goes to those whose turn it is: what can't be
// dealt out costs a round trip for each shard.
func (t *taking) deal(ready []readiness) []share {
	sum, each, most := 0, t.req.MaxPerQueue, t.most()
	left, bytes := t.left()
	all := left
	for _, r := range ready {
		sum += r.queues
	}
	urls := make([]int, len(ready))
	for i, r := range ready {
		n := min(most, all*r.queues/sum)
		if n >= each {
			n -= n % each
		}
		urls[i] = n
		left -= n
	}
	var shares []share
	for i, r := range ready {
		if n := urls[i]; n >= each && n+each <= min(most, r.queues*each) && left >= each {
			urls[i] += each
			left -= each
		}
		if urls[i] > 0 {
			shares = append(shares, share{shard: r.shard, urls: urls[i], bytes: bytes / int64(len(ready)), whole: true, more: t.served[r.shard]})
		}
	}
	return shares
}
