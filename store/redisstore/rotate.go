package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// rotate takes from all shards, or that of the queue that is meant, beginning where the last call ended. It asks which have something ready, and then divides what
// the request still wants among those, again and again. Where servers are slow, it stops with what it has: those leases already run.
func (t *taking) rotate(ctx context.Context) error {
	began := time.Now()
	ready, err := t.ready(ctx)
	for err == nil && len(ready) > 0 && !t.filled() && (len(t.leases) == 0 || time.Since(began) < t.s.opt.waitTimeout) {
		shares := t.deal(ready)
		err = t.from(ctx, shares)
		if t.req.Queue == "" {
			t.s.turn.Store(uint64(shares[len(shares)-1].shard) + 1)
		}
		ready = slices.DeleteFunc(ready, func(r readiness) bool { return t.shards[r.shard].spent })
		ctx = accepted(ctx)
	}
	return err
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
	if home, _ := t.s.layout.ofQueue(t.req.Queue); n == 1 || t.req.Queue != "" {
		return []readiness{{shard: home, queues: 1}}, nil
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
		t.shards[shard].next = int64(r.uint(6))
	}
	slices.SortStableFunc(list, func(a, b readiness) int { return cmp.Compare(max(a.turn, t.turn), max(b.turn, t.turn)) })
	return list, nil
}

// leastShare is how many bytes a shard is asked for at least, where shards share a bound.
const leastShare = 16 << 10

// deal divides what the request still wants among the first of the shards, by how much they have ready. A queue has to wait after
// it was served, whatever it gave: so a share is of as many URLs as a queue may give, or a multiple. What is left over is for the next deal.
func (t *taking) deal(ready []readiness) (shares []share) {
	left, bytes, each := t.left(), int64(0), min(maxPart, t.req.MaxPerQueue)
	n := min(len(ready), max(1, left/each))
	if t.req.MaxBytes > 0 {
		bytes = t.req.MaxBytes - t.bytes
		n = min(n, max(1, int(bytes/leastShare)))
	}
	if t.req.MaxQueues > 0 {
		n = 1
		if t.queues >= t.req.MaxQueues && t.shards[ready[0].shard].unfinished == 0 { // when may they have something for the request?
			for _, r := range ready {
				shares = append(shares, share{shard: r.shard})
			}
			return shares
		}
	}
	sum := 0
	for _, r := range ready[:n] {
		sum += r.queues
	}
	for _, r := range ready[:n] {
		urls := min(maxPart, maxQueues*each, left*r.queues/sum)
		if t.req.Queue == "" {
			urls = max(each, urls-urls%each)
		}
		urls = min(left, urls)
		shares = append(shares, share{r.shard, urls, bytes / int64(n)})
		left, sum = left-urls, sum-r.queues
		if left < each {
			break
		}
	}
	return shares
}
