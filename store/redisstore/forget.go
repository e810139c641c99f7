package redisstore

import (
	"cmp"
	"context"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// day is the granularity in which keys are forgotten by age.
const day = 24 * time.Hour

// Forget implements store.Store. Each key is forgotten whole or not at all. A failed call may have forgotten
// some keys; a queue that it began to delete is deleted, by another daemon if need be.
// Keys are forgotten by age to the day.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	crawl, err := sched.CheckSelection(sel)
	if err != nil {
		return 0, err
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	ctx = accepted(ctx)
	if sel.Age > 0 {
		sel.Before = s.wallTime().Add(-sel.Age)
	}
	defer s.idle.changes.Add(1)
	crawls := []string{crawl}
	if crawl == sched.AnyCrawl {
		if crawls, err = s.crawlNames(ctx); err != nil {
			return 0, err
		}
	}
	f := &forgetting{Store: s}
	for _, f.crawl = range crawls {
		if err := f.selected(ctx, sel); err != nil {
			return f.sum, err
		}
	}
	return f.sum, nil
}

// forgetting is a Forget, or the part of one that the sweeper finishes.
type forgetting struct {
	*Store
	crawl string // at present
	sum   int64  // keys forgotten
	page  string // of a deleted queue, whose keys are forgotten; see lua/deletedqueue.lua
}

func (f *forgetting) selected(ctx context.Context, sel store.Selection) error {
	switch {
	case sel.Keys != nil:
		return f.keys(ctx, sel.Keys)
	case sel.Queue != "":
		return f.queue(ctx, sel.Queue)
	case !sel.Before.IsZero():
		return f.before(ctx, sel.Before)
	}
	return f.all(ctx)
}

func (f *forgetting) keys(ctx context.Context, keys []store.Key) error {
	for len(keys) > 0 {
		n := min(len(keys), waveSize)
		found, err := f.resolve(ctx, scriptResolve, f.crawl, keys[:n])
		if err == nil {
			err = f.drop(ctx, 'h', keys[:n], found)
		}
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// drop forgets keys that are known, each by a step. For the mode see lua/release.lua. Keys named by the caller
// (mode h) are forgotten in any state; others are left if they have changed.
func (f *forgetting) drop(ctx context.Context, mode byte, keys []store.Key, found []atHome) error {
	return f.untilClear(ctx, func() (bool, error) {
		var list []*step
		for i := range keys {
			if found[i].state != unknown {
				list = append(list, &step{key: keys[i], old: found[i], mode: mode})
			}
		}
		if err := f.carryOut(ctx, f.crawl, stepForget, list); err != nil {
			return false, err
		}
		keys, found = nil, nil
		for _, st := range list {
			switch {
			case st.begun == 'R' || st.begun == 'Y' && !st.left:
				f.sum++
			case st.begun == 'P' || st.begun == 'N' && mode == 'h': // again, once its other step is finished
				keys, found = append(keys, st.key), append(found, st.old)
			}
		}
		now, err := f.resolve(ctx, scriptResolve, f.crawl, keys)
		if mode == 'h' {
			found = now
		}
		return len(keys) == 0, err
	})
}

// queue forgets a queue: immediately for every caller, and then its keys.
func (f *forgetting) queue(ctx context.Context, queue string) error {
	shard, _ := f.layout.ofQueue(f.crawl, queue)
	for deleted := false; ; {
		if !deleted {
			r, err := f.ask(ctx, scriptDeleteQueue, shard, f.crawl, []byte(queue))
			if err != nil {
				return err
			}
			deleted = r.left == "Y"
		}
		more, err := f.deletedPage(ctx, shard, queue, 0)
		if err != nil || !more && deleted {
			return err
		}
	}
}

// deletedPage forgets a page of the keys that a deleted queue left in a shard, of any queue deleted that long ago with name "". It
// returns false if there are none.
func (f *forgetting) deletedPage(ctx context.Context, shard int, name string, age time.Duration) (more bool, err error) {
	blob := append(appendShort(appendUint(nil, 6, uint64(age.Milliseconds())), name), f.page...)
	f.page = ""
	r, err := f.ask(ctx, scriptDeletedQueue, shard, f.crawl, blob)
	if err != nil || !r.more() {
		return false, err
	}
	page, width := r.left, 22
	_, h := f.layout.ofQueue(f.crawl, r.short())
	r.uint(1) // incarnation
	if set := r.bytes(1); set == "d" || set == "L" {
		width = len(store.Key{})
	}
	r.short() // cursor
	var keys []store.Key
	var found []atHome
	for r.more() {
		r.bytes(width - len(store.Key{}))
		keys, found = append(keys, r.key()), append(found, atHome{state: queuedIn, queue: h})
	}
	if err := r.err(); err != nil {
		return false, err
	}
	if err := f.drop(ctx, 'd', keys, found); err != nil { // but for those that were queued again
		return false, err
	}
	f.page = page
	return true, nil
}

// before forgets keys that were recorded on days before and aren't held.
func (f *forgetting) before(ctx context.Context, before time.Time) error {
	days := max(0, before.UnixMilli()/day.Milliseconds())
	for shard := range f.opt.Shards {
		var failed error
		err := f.keyPages(ctx, f.ask, f.crawl, shard, uint16(min(days, allDays-1)), func(keys []store.Key, found []atHome) bool {
			failed = f.drop(ctx, 'a', keys, found)
			return failed == nil
		})
		if err = cmp.Or(failed, err); err != nil {
			return err
		}
	}
	return nil
}

// all forgets a crawl in every shard, atomically in each, and then sweeps its remains.
func (f *forgetting) all(ctx context.Context) error {
	b := f.batch(scriptForgetCrawl, f.crawl, nil).everywhere()
	if err := b.read(ctx, func(_ int, r *reader) { f.sum += int64(r.uint(6)) }); err != nil {
		return err
	}
	return f.sweepCrawls(ctx, upTo(f.opt.Shards))
}

// sweepCrawls deletes the remains of forgotten crawls in some shards.
func (s *Store) sweepCrawls(ctx context.Context, left []int) error {
	for len(left) > 0 {
		b := s.batch(scriptSweep, "", nil)
		for _, shard := range left {
			b.add(shard, shard)
		}
		left = left[:0]
		if err := b.read(ctx, func(i int, r *reader) {
			if r.bytes(1) == "Y" {
				left = append(left, i)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}
