package redisstore

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// day is the granularity in which keys are forgotten by age.
const day = 24 * time.Hour

// Forget implements store.Store. Each key is forgotten whole or not at all. A call that fails may have begun with
// keys that stay forgotten; a queue that it began to delete is deleted, by another daemon if need be.
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
	sum := int64(0)
	for _, name := range crawls {
		n, err := (&forgetting{Store: s, crawl: name}).selected(ctx, sel)
		sum += n
		if err != nil {
			return sum, err
		}
		ctx = accepted(ctx)
	}
	return sum, nil
}

// wallTime is the time from which an age is counted back: this machine's, since days are compared.
func (s *Store) wallTime() time.Time {
	if s.opt.clock != nil {
		return s.opt.clock()
	}
	return time.Now()
}

type forgetting struct {
	*Store
	crawl string
	sum   int64  // keys forgotten
	page  string // of a deleted queue, whose keys are forgotten; see lua/dead.lua
}

func (f *forgetting) selected(ctx context.Context, sel store.Selection) (int64, error) {
	switch {
	case sel.Keys != nil:
		return f.keys(ctx, sel.Keys)
	case sel.Queue != "":
		return f.queue(ctx, sel.Queue)
	case !sel.Before.IsZero():
		return f.before(ctx, sel.Before)
	}
	return f.forgetCrawl(ctx, f.crawl)
}

func (f *forgetting) keys(ctx context.Context, keys []store.Key) (sum int64, err error) {
	for len(keys) > 0 {
		n := min(len(keys), waveSize)
		found, err := f.resolve(ctx, scriptResolve, f.crawl, keys[:n], numbers(n))
		if err != nil {
			return sum, err
		}
		gone, err := f.drop(ctx, 'h', keys[:n], found)
		sum += gone
		if err != nil {
			return sum, err
		}
		ctx, keys = accepted(ctx), keys[n:]
	}
	return sum, nil
}

// drop forgets keys that are known, each by a step. For the mode see lua/release.lua. Keys named by the caller
// (mode h) are forgotten whatever became of them; others are left if they have changed.
func (f *forgetting) drop(ctx context.Context, mode byte, keys []store.Key, found []known) (gone int64, err error) {
	err = f.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		var list []*step
		for i := range keys {
			if found[i].was != unknown {
				list = append(list, &step{key: keys[i], old: found[i], mode: mode})
			}
		}
		if err := f.begin(ctx, f.crawl, stepForget, list); err != nil {
			return false, err
		}
		ctx = accepted(ctx)
		begun, again := begunOf(list, 'Y'), begunOf(list, 'P')
		gone += int64(len(begunOf(list, 'R')))
		if err := f.deliver(ctx, f.crawl, begun); err != nil {
			return false, err
		}
		for _, st := range begun {
			if !st.left {
				gone++
			}
		}
		// Those that have another step are tried again once it is finished.
		if mode == 'h' {
			again = append(again, begunOf(list, 'N')...)
		}
		keys, found = nil, nil
		for _, st := range again {
			keys, found = append(keys, st.key), append(found, st.old)
		}
		now, err := f.resolve(ctx, scriptResolve, f.crawl, keys, numbers(len(keys)))
		if mode == 'h' {
			found = now
		}
		return len(keys) == 0, err
	})
	return gone, err
}

// queue forgets a queue: immediately for every caller, and then its keys.
func (f *forgetting) queue(ctx context.Context, queue string) (int64, error) {
	shard, _ := f.layout.ofQueue(queue)
	for detached := false; ; {
		if !detached {
			r, err := f.ask(ctx, scriptDetach, shard, f.crawl, []byte(queue))
			if err != nil {
				return f.sum, err
			}
			detached = r.left == "Y"
			ctx = accepted(ctx)
		}
		more, err := f.deadPage(ctx, shard, queue, 0)
		if err != nil || !more && detached {
			return f.sum, err
		}
	}
}

// before forgets keys that were recorded on days before and aren't held.
func (f *forgetting) before(ctx context.Context, before time.Time) (sum int64, err error) {
	days := max(0, before.UnixMilli()/day.Milliseconds())
	if days == 0 {
		return 0, nil
	}
	for shard := range f.opt.Shards {
		for from := uint64(0); from < noMore; {
			p, err := f.keyPage(ctx, f.crawl, shard, from, uint16(min(days, allDays-1)))
			if err != nil {
				return sum, err
			}
			n, err := f.drop(ctx, 'a', p.keys, p.known)
			sum += n
			if err != nil {
				return sum, err
			}
			ctx, from = accepted(ctx), p.next
		}
	}
	return sum, nil
}

// forgetCrawl forgets a crawl in every shard, at once as others see it in each, and then sweeps its remains.
func (s *Store) forgetCrawl(ctx context.Context, crawl string) (sum int64, err error) {
	b := s.batch(scriptWipe, s.requests.id(), crawl, nil).everywhere()
	if err := b.read(ctx, func(_ int, r *reader) { sum += int64(r.uint(6)) }); err != nil {
		return 0, err
	}
	return sum, s.sweepCrawls(accepted(ctx), numbers(s.opt.Shards))
}

// sweepCrawls deletes what belongs to crawls that were forgotten, in some shards.
func (s *Store) sweepCrawls(ctx context.Context, left []int) error {
	for len(left) > 0 {
		b := s.batch(scriptSweep, s.requests.id(), "", nil)
		for _, shard := range left {
			b.part(shard, shard)
		}
		left = left[:0]
		if err := b.read(ctx, func(i int, r *reader) {
			if r.bytes(1) == "Y" {
				left = append(left, i)
			}
		}); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
