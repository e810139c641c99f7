package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// QueueInfo implements store.Store.
func (s *Store) QueueInfo(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	defer s.leave()
	info, there, err := s.queueInfo(ctx, crawl, queue)
	if err == nil && !there {
		err = fmt.Errorf("cannot find queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	}
	return info, err
}

func (s *Store) queueInfo(ctx context.Context, crawl, queue string) (info store.QueueInfo, there bool, err error) {
	shard, _ := s.layout.ofQueue(queue)
	list, _, err := s.infoPage(ctx, crawl, shard, "Q"+queue)
	if len(list) == 0 {
		return store.QueueInfo{}, false, err
	}
	return list[0], true, nil
}

// infoPage asks for one queue or a page of them; see lua/info.lua.
func (s *Store) infoPage(ctx context.Context, crawl string, shard int, what string) (list []store.QueueInfo, next string, err error) {
	var r *reader
	for next = "-"; next == "-"; next = r.short() {
		if r, err = s.ask(ctx, scriptInfo, shard, crawl, []byte(what)); err != nil {
			return nil, "", err
		}
	}
	for r.more() {
		list = append(list, readInfo(r, crawl))
	}
	return list, next, r.err()
}

func readInfo(r *reader, crawl string) store.QueueInfo {
	q := store.QueueInfo{Crawl: crawl, Name: r.short()}
	queued, live, late := int64(r.uint(6)), int64(r.uint(4)), int64(r.uint(4))
	q.Held, q.InFlight, q.Completed, q.Dropped = queued+live+late, live, int64(r.uint(6)), int64(r.uint(6))
	q.LastTake, q.NotBefore, q.Next = sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6)))
	q.Delay = time.Duration(int64(r.uint(8))) * time.Millisecond
	q.MaxInFlight = int(int64(r.uint(8)))
	q.BlockedUntil = sched.Time(int64(r.uint(6)))
	q.Limit = int64(r.uint(8))
	q.Weight, q.Paused = uint8(r.uint(1)), r.uint(1) == 1
	return q
}

// Queues implements store.Store. Each page of the listing reads all queues of the crawl, and keeps the first of those
// in order of name: 1,000 at first, twice as many each time, up to 128,000. So a caller that reads the first rows needs little
// memory, and one that reads all of them few scans.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		crawl, err := sched.CrawlOfQueue(crawl, after)
		crawls := []string{crawl}
		if err == nil && crawl == sched.AnyCrawl {
			crawls, err = s.Crawls(ctx)
		}
		if err != nil {
			yield(store.QueueInfo{}, err)
			return
		}
		for _, name := range crawls {
			for from, n := after, 1000; ; n = min(2*n, 128_000) {
				list, more, err := s.firstQueues(ctx, name, from, n)
				for _, q := range list {
					if !yield(q, nil) {
						return
					}
				}
				if err != nil {
					yield(store.QueueInfo{}, err)
					return
				}
				if !more {
					break
				}
				from = list[len(list)-1].Name
			}
		}
	}
}

// firstQueues returns the first n queues of a crawl behind a name, in order, and whether there are more.
func (s *Store) firstQueues(ctx context.Context, crawl, after string, n int) (list []store.QueueInfo, more bool, err error) {
	cut := func() {
		slices.SortFunc(list, func(a, b store.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
		// A scan may return a queue twice.
		list = slices.CompactFunc(list, func(a, b store.QueueInfo) bool { return a.Name == b.Name })
		if len(list) > n {
			list, more = list[:n], true
		}
	}
	for shard := range s.opt.Shards {
		for cursor := ""; ; {
			page, err := entered(ctx, s, func() (page []store.QueueInfo, err error) {
				page, cursor, err = s.infoPage(ctx, crawl, shard, "S"+cursor)
				return page, err
			})
			if err != nil {
				return nil, false, err
			}
			for _, q := range page {
				if q.Name > after || after == "" {
					list = append(list, q)
				}
			}
			if len(list) > 2*n {
				cut()
			}
			if cursor == "" {
				break
			}
		}
	}
	cut()
	return list, more, nil
}

// Configure implements store.Store. Settings of a crawl and of the store are kept in every shard.
// Each Take applies new settings to a bounded number of queues. A queue is always checked against
// them before it is served.
func (s *Store) Configure(ctx context.Context, crawl, queue string, ch store.QueueChange) error {
	crawl, err := sched.CheckConfigure(crawl, queue, &ch)
	if err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	defer s.idle.changes.Add(1)
	notFound := fmt.Errorf("cannot configure queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	must := ch.MustExist && crawl != sched.AnyCrawl
	if must && queue == "" {
		names, err := s.crawlNames(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(names, crawl) {
			return notFound
		}
	}
	shard, _ := s.layout.ofQueue(queue)
	head := append(appendChange([]byte{flag(must)}, &ch), queue...)
	b := s.batch(scriptConfigure, s.requests.id(), crawl, head)
	if queue == "" {
		b.everywhere()
	} else {
		b.part(shard, 0)
	}
	found := true
	err = b.read(ctx, func(_ int, r *reader) { found = r.bytes(1) == "Y" && found })
	if err == nil && !found {
		return notFound
	}
	return err
}
