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
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	if err := s.enter(ctx); err != nil {
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
	var r reader
	for next = "-"; next == "-"; {
		c := &call{shard: shard, script: scriptInfo, crawl: crawl, blob: []byte(what)}
		if err := s.run(ctx, []*call{c}); err != nil {
			return nil, "", err
		}
		r = reader{c.reply}
		next = r.short()
	}
	for r.more() {
		list = append(list, readInfo(&r, crawl))
	}
	return list, next, r.err()
}

func readInfo(r *reader, crawl string) store.QueueInfo {
	q := store.QueueInfo{Crawl: crawl, Name: r.short()}
	queued, live, late := int64(r.uint(6)), int64(r.uint(4)), int64(r.uint(4))
	q.Held, q.InFlight, q.Completed, q.Dropped = queued+live+late, live, int64(r.uint(6)), int64(r.uint(6))
	q.LastTake, q.Next = sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6)))
	q.Delay = time.Duration(int64(r.uint(8))) * time.Millisecond
	q.MaxInFlight = int(int64(r.uint(8)))
	q.BlockedUntil = sched.Time(int64(r.uint(6)))
	q.Limit = int64(r.uint(8))
	q.Weight, q.Paused = uint8(r.uint(1)), r.uint(1) == 1
	return q
}

// Queues implements store.Store. The queues of a crawl are gathered and sorted before
// the first is told, about 200 bytes each.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		crawl, err := sched.CheckListing(crawl, after)
		crawls := []string{crawl}
		if err == nil && crawl == sched.AnyCrawl {
			crawls, err = s.Crawls(ctx)
		}
		if err != nil {
			yield(store.QueueInfo{}, err)
			return
		}
		for _, name := range crawls {
			list, err := s.gatherQueues(ctx, name, after)
			for _, q := range list {
				if !yield(q, nil) {
					return
				}
			}
			if err != nil {
				yield(store.QueueInfo{}, err)
				return
			}
		}
	}
}

// gatherQueues returns the queues of a crawl in order of name.
func (s *Store) gatherQueues(ctx context.Context, crawl, after string) (all []store.QueueInfo, err error) {
	for shard := range s.opt.Shards {
		for cursor := "0"; ; {
			list, err := entered(ctx, s, func() ([]store.QueueInfo, error) {
				list, next, err := s.infoPage(ctx, crawl, shard, "S"+cursor)
				cursor = next
				return list, err
			})
			if err != nil {
				return nil, err
			}
			for _, q := range list {
				if q.Name > after || after == "" {
					all = append(all, q)
				}
			}
			if cursor == "0" {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b store.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
	// A scan may tell of a queue twice.
	return slices.CompactFunc(all, func(a, b store.QueueInfo) bool { return a.Name == b.Name }), nil
}
