package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// day is the granularity in which keys are forgotten by age.
const day = 24 * time.Hour

// Forget implements store.Store. Keys go in steps: when it fails on the way, some
// are gone, some only let go by their queue, and doing it again does the rest. Keys
// are forgotten by age to the day.
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
	crawls := []string{crawl}
	if crawl == sched.AnyCrawl {
		if crawls, err = s.crawlNames(ctx); err != nil {
			return 0, err
		}
	}
	sum := int64(0)
	for _, name := range crawls {
		n, err := s.forget(ctx, name, sel)
		sum += n
		if err != nil {
			return sum, err
		}
		ctx = accepted(ctx)
	}
	return sum, nil
}

// wallTime is the time from which an age is counted back: this machine's, since days
// are compared.
func (s *Store) wallTime() time.Time {
	if s.opt.Clock != nil {
		return s.opt.Clock()
	}
	return time.Now()
}

// forget forgets in one crawl, and makes the caches of all daemons forget, too.
func (s *Store) forget(ctx context.Context, crawl string, sel store.Selection) (int64, error) {
	f := &forgetting{Store: s, crawl: crawl, id: s.requests.id()}
	if err := f.announce(ctx); err != nil {
		return 0, err
	}
	sum, err := f.selected(ctx, sel)
	if err != nil {
		return sum, err
	}
	return sum, f.finish(accepted(ctx))
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
		found, err := f.resolve(ctx, f.crawl, keys[:n])
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

// drop forgets keys that are known: their queues release them, then the seen side
// removes them. For the mode see lua/release.lua.
func (f *forgetting) drop(ctx context.Context, mode byte, keys []store.Key, found []known) (int64, error) {
	if err := f.announce(ctx); err != nil {
		return 0, err
	}
	s, crawl, id := f.Store, f.crawl, f.requests.id()
	heldKeys, _, err := s.release(ctx, id, crawl, mode, keys, found)
	if err != nil {
		return 0, err
	}
	ctx = accepted(ctx)
	// The release may have taken so long that the announcement would end before the keys are gone.
	if err := f.announce(ctx); err != nil {
		return 0, err
	}
	b := s.batch(scriptRemove, id.phase(phaseRecord), crawl, s.shardsHead())
	for i := range keys {
		if found[i].was == unknown || heldKeys[i] {
			continue
		}
		p := b.keyPart(i, &keys[i])
		p.blob = append(append(append(p.blob, keys[i][:]...), byte(found[i].was)), found[i].queue[:]...)
	}
	if err := b.run(ctx); err != nil {
		return 0, err
	}
	gone := int64(0)
	err = b.tell(func(_ int, answer byte) {
		if answer == 'Y' {
			gone++
		}
	})
	return gone, err
}

// queue forgets what a queue holds the text of. A key that an Add is about to confirm or to take back
// is waited for, so that it isn't confirmed when its URL is gone.
func (f *forgetting) queue(ctx context.Context, queue string) (sum int64, err error) {
	_, h := f.layout.ofQueue(queue)
	keys, err := f.keysOfQueue(ctx, f.crawl, queue)
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(keys, waveSize) {
		found, err := f.resolve(ctx, f.crawl, part)
		if err != nil {
			return sum, err
		}
		for i, k := range found {
			if found[i] = (known{queuedIn, h}); k.was == queuedIn && k.queue != h {
				found[i] = known{} // it has moved
			}
		}
		n, err := f.drop(ctx, 'h', part, found)
		sum += n
		if err != nil {
			return sum, err
		}
		ctx = accepted(ctx)
	}
	return sum, f.forgetEnds(ctx, queue)
}

// forgetEnds sets the counts of URLs that a queue completed and dropped to 0.
func (f *forgetting) forgetEnds(ctx context.Context, queue string) error {
	shard, _ := f.layout.ofQueue(queue)
	return f.run(ctx, []*call{{shard: shard, script: scriptRelease, id: f.requests.id(), crawl: f.crawl, blob: []byte("q" + queue)}})
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

// forgetCrawl forgets a crawl in every shard, at once as others see it in each, and then
// sweeps what is left of it.
func (s *Store) forgetCrawl(ctx context.Context, crawl string) (sum int64, err error) {
	b := s.batch(scriptWipe, s.requests.id(), crawl, nil).everywhere()
	if err := b.run(ctx); err != nil {
		return 0, err
	}
	for _, c := range b.calls {
		r := reader{c.reply}
		sum += int64(r.uint(6))
		if err := r.err(); err != nil {
			return sum, err
		}
	}
	return sum, s.sweep(accepted(ctx), numbers(s.opt.Shards))
}

// sweep deletes what belongs to crawls that were forgotten, in some shards.
func (s *Store) sweep(ctx context.Context, left []int) error {
	for len(left) > 0 {
		b := s.batch(scriptSweep, s.requests.id(), "", nil)
		for _, shard := range left {
			b.part(shard, shard)
		}
		if err := b.run(ctx); err != nil {
			return err
		}
		left = left[:0]
		if err := b.tell(func(i int, answer byte) {
			if answer == 'Y' {
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
