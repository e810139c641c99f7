package redisstore

import (
	"cmp"
	"context"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// sweeper finishes what daemons left half done, until the store is closed. One daemon at a time does so.
func (s *Store) sweeper(ctx context.Context) {
	every := min(s.opt.recoverAfter/4, time.Minute)
	for ctx.Err() == nil {
		if err := s.sweepIfTurn(ctx, every); err != nil && ctx.Err() == nil {
			s.opt.Logger.Warn("cannot finish all unfinished steps of other daemons; trying again later", "error", err)
		}
		_ = async.Sleep(ctx, every)
	}
}

// sweepIfTurn sweeps if no other daemon began to do so lately.
func (s *Store) sweepIfTurn(ctx context.Context, every time.Duration) error {
	key := s.layout.meta + "T"
	node, err := s.nodes.MasterForKey(ctx, key)
	if err != nil {
		return err
	}
	if ok, err := node.SetNX(ctx, key, s.requests.self[:], every).Result(); !ok {
		return err
	}
	return s.sweep(ctx, s.opt.recoverAfter)
}

// sweep finishes steps older than age, deletions of queues, and deletions of crawls. A shard out of reach
// holds up its own steps alone; the first error is returned.
func (s *Store) sweep(ctx context.Context, age time.Duration) (failed error) {
	for shard := range s.opt.Shards {
		for cursor, more := "", true; more && ctx.Err() == nil; more = cursor != "" {
			r, err := s.ask(ctx, scriptOverdue, shard, "", []byte(cursor))
			if err != nil {
				failed = cmp.Or(failed, err)
				break
			}
			if r.uint(1) == 1 {
				failed = cmp.Or(failed, s.sweepCrawls(ctx, []int{shard}))
			}
			for cursor = r.short(); r.more(); {
				failed = cmp.Or(failed, s.sweepShard(ctx, r.short(), shard, age))
			}
			failed = cmp.Or(failed, r.err())
		}
	}
	return failed
}

// sweepShard finishes what one shard has of a crawl.
func (s *Store) sweepShard(ctx context.Context, crawl string, shard int, age time.Duration) (failed error) {
	for cursor, more := "", true; more && ctx.Err() == nil; more = cursor != "" {
		steps, next, err := s.leftovers(ctx, crawl, shard, age, cursor)
		if err != nil {
			return cmp.Or(failed, err)
		}
		failed, cursor = cmp.Or(failed, s.deliver(ctx, crawl, steps)), next
	}
	f := &forgetting{Store: s, crawl: crawl}
	for more := true; more && ctx.Err() == nil; {
		var err error
		more, err = f.deadPage(ctx, shard, "", age)
		failed = cmp.Or(failed, err)
	}
	return failed
}

func (s *Store) leftovers(ctx context.Context, crawl string, shard int, age time.Duration, cursor string) (steps []*step, next string, err error) {
	r, err := s.ask(ctx, scriptLeftovers, shard, crawl, append(appendUint(nil, 6, uint64(age.Milliseconds())), cursor...))
	if err != nil {
		return nil, "", err
	}
	for next = r.short(); r.more(); {
		steps = append(steps, readStep(r.key(), r))
	}
	return steps, next, r.err()
}

// deadPage forgets a page of the keys that a deleted queue left in a shard, of any queue deleted that long ago with name "". It
// returns false if there are none.
func (f *forgetting) deadPage(ctx context.Context, shard int, name string, age time.Duration) (more bool, err error) {
	blob := append(appendShort(appendUint(nil, 6, uint64(age.Milliseconds())), name), f.page...)
	f.page = ""
	r, err := f.ask(ctx, scriptDead, shard, f.crawl, blob)
	if err != nil || !r.more() {
		return false, err
	}
	page, width := r.left, 22
	_, h := f.layout.ofQueue(r.short())
	r.uint(1) // incarnation
	if set := r.bytes(1); set == "d" || set == "L" {
		width = len(store.Key{})
	}
	r.short() // cursor
	var keys []store.Key
	var found []known
	for r.more() {
		r.bytes(width - len(store.Key{}))
		keys, found = append(keys, r.key()), append(found, known{queuedIn, h})
	}
	if err := r.err(); err != nil {
		return false, err
	}
	n, err := f.drop(ctx, 'd', keys, found) // but for those that were queued again
	f.sum += n
	if err == nil {
		f.page = page
	}
	return err == nil, err
}
