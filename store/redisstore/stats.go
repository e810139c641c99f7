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

// Stats implements store.Store. The counts of each shard are exact, and asked for
// one node after the other.
func (s *Store) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	crawl, err := sched.CrawlNames(crawl)
	if err != nil {
		return store.Stats{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Stats{}, err
	}
	defer s.leave()
	return s.stats(ctx, crawl)
}

func (s *Store) stats(ctx context.Context, crawl string) (store.Stats, error) {
	sum, err := s.statsOnce(ctx, crawl)
	if err == nil && sum.Held == 0 {
		// A URL may have come from an outbox that was read late to a queue that was read early.
		return s.statsOnce(ctx, crawl)
	}
	return sum, err
}

func (s *Store) statsOnce(ctx context.Context, crawl string) (store.Stats, error) {
	by, err := s.statsByCrawl(ctx, crawl)
	var sum store.Stats
	for _, st := range by {
		addStats(&sum, st)
	}
	return sum, err
}

func (s *Store) statsByCrawl(ctx context.Context, crawl string) (map[string]store.Stats, error) {
	b := s.batch(scriptStats, requestID{}, crawl, nil).everywhere()
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	by := map[string]store.Stats{}
	for _, c := range b.calls {
		r := reader{c.reply}
		for r.more() {
			name := r.short()
			sum := by[name]
			coming := int64(r.uint(6))
			st := store.Stats{Seen: int64(r.uint(6)), InFlight: int64(r.uint(6)), Dropped: int64(r.uint(6)), Held: int64(r.uint(6))}
			r.uint(6) // leased
			st.Held += coming
			st.Completed, st.Queues, st.Active = int64(r.uint(6)), int64(r.uint(6)), int64(r.uint(6))
			addStats(&sum, st)
			by[name] = sum
		}
		if err := r.err(); err != nil {
			return nil, err
		}
	}
	return by, nil
}

func addStats(to *store.Stats, s store.Stats) {
	to.Seen += s.Seen
	to.Held += s.Held
	to.InFlight += s.InFlight
	to.Completed += s.Completed
	to.Dropped += s.Dropped
	to.Queues += s.Queues
	to.Active += s.Active
}

// Shared reports that other processes may write to the store.
func (s *Store) Shared() bool { return true }

// namesAtOnce bounds the crawls that one script settles.
const namesAtOnce = 200

// NameCrawls implements store.Store. What holds is a field of the meta key.
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
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.crawlNames(ctx)
}

func (s *Store) crawlNames(ctx context.Context) ([]string, error) {
	by, err := s.statsByCrawl(ctx, sched.AnyCrawl)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(by)), nil
}
