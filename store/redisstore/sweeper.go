package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// sweeper finishes what daemons left half done, until the store is closed. One daemon at a time does so.
func (s *Store) sweeper(ctx context.Context) {
	every := min(s.opt.recoverAfter/4, time.Minute)
	for ctx.Err() == nil {
		if err := s.sweepIfTurn(ctx, 2*every); err != nil && ctx.Err() == nil {
			s.opt.Log.Warn("cannot finish all steps that were left half done; it is tried again", "error", err)
		}
		_ = async.Sleep(ctx, every)
	}
}

// sweepIfTurn sweeps if no other daemon did so lately.
func (s *Store) sweepIfTurn(ctx context.Context, turn time.Duration) error {
	c := &call{shard: storeShard, script: scriptTurn, blob: append(appendUint(nil, 6, uint64(turn.Milliseconds())), s.requests.self[:]...)}
	if err := s.run(ctx, []*call{c}); err != nil || c.reply != "Y" {
		return err
	}
	return s.sweep(ctx, s.opt.recoverAfter)
}

// sweep finishes steps older than age, deletions of queues, and deletions of crawls. A shard out of reach
// holds up its own steps alone.
func (s *Store) sweep(ctx context.Context, age time.Duration) (failed error) {
	for shard := range s.opt.Shards {
		for cursor := ""; ctx.Err() == nil; {
			c := &call{shard: shard, script: scriptOverdue, blob: []byte(cursor)}
			if err := s.run(ctx, []*call{c}); err != nil {
				failed = errors.Join(failed, err)
				break
			}
			r := reader{c.reply}
			if r.uint(1) == 1 {
				failed = errors.Join(failed, s.sweepCrawls(ctx, []int{shard}))
			}
			cursor = r.short()
			for r.more() {
				failed = errors.Join(failed, s.sweepShard(ctx, r.short(), shard, age))
			}
			if failed = errors.Join(failed, r.err()); cursor == "" || r.err() != nil {
				break
			}
		}
	}
	return failed
}

// sweepShard finishes what one shard has of a crawl.
func (s *Store) sweepShard(ctx context.Context, crawl string, shard int, age time.Duration) (failed error) {
	for _, box := range []byte("op") {
		for cursor := ""; ctx.Err() == nil; {
			steps, next, err := s.leftovers(ctx, crawl, shard, box, age, cursor)
			if err != nil {
				return errors.Join(failed, err)
			}
			failed = errors.Join(failed, s.deliver(ctx, crawl, steps))
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	f := &forgetting{Store: s, crawl: crawl}
	for ctx.Err() == nil {
		more, err := f.deadPage(ctx, shard, "", age)
		if failed = errors.Join(failed, err); err != nil || !more {
			break
		}
	}
	return failed
}

// leftovers returns a page of the steps that began some time ago.
func (s *Store) leftovers(ctx context.Context, crawl string, shard int, box byte, age time.Duration, cursor string) (steps []*step, next string, err error) {
	c := &call{shard: shard, script: scriptLeftovers, crawl: crawl}
	c.blob = append(appendUint([]byte{box}, 6, uint64(age.Milliseconds())), cursor...)
	if err := s.run(ctx, []*call{c}); err != nil {
		return nil, "", err
	}
	r := reader{c.reply}
	next = r.short()
	for r.more() {
		key := r.key()
		st, err := readStep(key, r.long())
		if err != nil {
			return nil, "", err
		}
		steps = append(steps, st)
	}
	return steps, next, r.err()
}

// deadPage forgets a page of the keys that a deleted queue left in a shard, of any queue deleted that long ago with name "". It
// returns false if there are none.
func (f *forgetting) deadPage(ctx context.Context, shard int, name string, age time.Duration) (more bool, err error) {
	c := &call{shard: shard, script: scriptDead, crawl: f.crawl, blob: append(appendShort(appendUint(nil, 6, uint64(age.Milliseconds())), name), f.cursor...)}
	if err := f.run(ctx, []*call{c}); err != nil || c.reply == "" {
		return false, err
	}
	r := reader{c.reply}
	name = r.short()
	inc, set, next, members := byte(r.uint(1)), byte(r.uint(1)), r.short(), r.left
	width := 22
	if set == 'd' || set == 'L' {
		width = len(store.Key{})
	}
	var keys []store.Key
	for r.more() {
		m := reader{r.bytes(width)}
		m.bytes(width - len(store.Key{}))
		keys = append(keys, m.key())
	}
	if err := r.err(); err != nil {
		return false, err
	}
	n, err := f.forgetDead(ctx, name, keys)
	f.sum += n
	if err != nil {
		return false, err
	}
	f.cursor = ""
	if set == 'L' && next != "" {
		f.cursor = next
		return true, nil
	}
	if set == 'L' {
		members = ""
	}
	bury := &call{shard: shard, script: scriptBury, id: f.requests.id(), crawl: f.crawl}
	bury.blob = append(append(appendShort(nil, name), inc, set), members...)
	return true, f.run(accepted(ctx), []*call{bury})
}

// forgetDead forgets keys that a deleted queue left, but for those that were queued again.
func (f *forgetting) forgetDead(ctx context.Context, name string, keys []store.Key) (int64, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	_, h := f.layout.ofQueue(name)
	found := make([]known, len(keys))
	for i := range found {
		found[i] = known{queuedIn, h}
	}
	return f.drop(ctx, 'd', keys, found)
}
