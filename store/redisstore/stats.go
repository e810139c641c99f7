package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/crawlnames"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Stats implements store.Store. The counts of each shard are exact, but nodes are asked one after the other, and a URL counts twice
// between its arrival in the queue and the end of its step, which may be long if the call failed. So at most as many URLs are
// reported as held as were seen.
func (s *Store) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	crawl, err := sched.CrawlNames(crawl)
	if err != nil {
		return store.Stats{}, err
	}
	return entered(ctx, s, func() (store.Stats, error) { return s.stats(ctx, crawl) })
}

func (s *Store) stats(ctx context.Context, crawl string) (sum store.Stats, err error) {
	by, err := s.statsBy(ctx, crawl)
	for _, st := range by {
		st.Held = min(st.Held, st.Seen)
		st.InFlight = min(st.InFlight, st.Held)
		sum = plus(sum, st)
	}
	return sum, err
}

func plus(a, b store.Stats) store.Stats {
	return store.Stats{
		Seen: a.Seen + b.Seen, Held: a.Held + b.Held, InFlight: a.InFlight + b.InFlight, Completed: a.Completed + b.Completed,
		Dropped: a.Dropped + b.Dropped, Queues: a.Queues + b.Queues, Active: a.Active + b.Active,
	}
}

// statsBy returns the counts of each crawl as they were read: what is held lacks no URL.
func (s *Store) statsBy(ctx context.Context, crawl string) (by map[string]store.Stats, err error) {
	for range 2 {
		by = map[string]store.Stats{}
		b, held := s.batch(scriptStats, requestID{}, crawl, nil).everywhere(), int64(0)
		err = b.read(ctx, func(_ int, r *reader) {
			for r.more() {
				name := r.short()
				coming, st := int64(r.uint(6)), store.Stats{Seen: int64(r.uint(6)), InFlight: int64(r.uint(6)), Dropped: int64(r.uint(6))}
				st.Held = int64(r.uint(6)) + coming
				r.uint(6) // leased
				st.Completed, st.Queues, st.Active = int64(r.uint(6)), int64(r.uint(6)), int64(r.uint(6))
				by[name], held = plus(by[name], st), held+st.Held
			}
		})
		if err != nil || held > 0 {
			break
		}
		// A URL may have come from an outbox that was read late to a queue that was read early.
	}
	return by, err
}

// Shared reports whether other processes can write to the store: it is always true.
func (s *Store) Shared() bool { return true }

// namesAtOnce bounds the crawls that one script settles.
const namesAtOnce = 200

// NameCrawls implements store.Store. The names that hold are fields of {meta}M (FORMAT.md).
func (s *Store) NameCrawls(ctx context.Context, names, stored []string) error {
	if err := crawlnames.Check(names, stored); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	for len(names) > 0 {
		n := min(len(names), namesAtOnce)
		fields := make([]field, n)
		for i := range fields {
			fields[i] = field{name: "crawl " + names[i], value: stored[i]}
		}
		holds, err := s.stamp(ctx, fields...)
		if err != nil {
			return fmt.Errorf("cannot settle the names of %d crawls: %w", n, err)
		}
		copy(stored, holds)
		names, stored = names[n:], stored[n:]
	}
	return nil
}

// Crawls implements store.Store.
func (s *Store) Crawls(ctx context.Context) ([]string, error) {
	return entered(ctx, s, func() ([]string, error) { return s.crawlNames(ctx) })
}

func (s *Store) crawlNames(ctx context.Context) ([]string, error) {
	by, err := s.statsBy(ctx, sched.AnyCrawl)
	return slices.Sorted(maps.Keys(by)), err
}
