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
	return entered(ctx, s, func() (store.Stats, error) { return s.stats(ctx, crawl) })
}

func (s *Store) stats(ctx context.Context, crawl string) (store.Stats, error) {
	by, err := s.statsBy(ctx, crawl, false)
	if err == nil && by[""].Held == 0 {
		// A URL may have come from an outbox that was read late to a queue that was read early.
		by, err = s.statsBy(ctx, crawl, false)
	}
	return by[""], err
}

// statsBy returns the counts of each crawl, or their sum as that of "".
func (s *Store) statsBy(ctx context.Context, crawl string, each bool) (map[string]store.Stats, error) {
	b := s.batch(scriptStats, requestID{}, crawl, nil).everywhere()
	by := map[string]store.Stats{}
	return by, b.read(ctx, func(_ int, r *reader) {
		for r.more() {
			name := r.short()
			if !each {
				name = ""
			}
			coming, sum := int64(r.uint(6)), by[name]
			sum.Seen += int64(r.uint(6))
			sum.InFlight += int64(r.uint(6))
			sum.Dropped += int64(r.uint(6))
			sum.Held += int64(r.uint(6)) + coming
			r.uint(6) // leased
			sum.Completed += int64(r.uint(6))
			sum.Queues += int64(r.uint(6))
			sum.Active += int64(r.uint(6))
			by[name] = sum
		}
	})
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
	by, err := s.statsBy(ctx, sched.AnyCrawl, true)
	return slices.Sorted(maps.Keys(by)), err
}
