package memstore

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Lookup returns the entries of keys.
func (s *Store) Lookup(ctx context.Context, name string, keys []store.Key) ([]store.Entry, error) {
	name, err := sched.CrawlName(name)
	if err := s.enter(ctx, err); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	entries := make([]store.Entry, len(keys))
	for i, key := range keys {
		if c := s.crawls[name]; c != nil && c.known[key] != nil {
			entries[i] = c.entry(c.known[key])
		}
	}
	return entries, nil
}

func (c *crawl) entry(k *known) store.Entry {
	if k.state == store.SeenOnly {
		return store.Entry{Key: k.Key, Crawl: c.Name}
	}
	if l := c.Leases[k.Key]; l != nil {
		return l.Entry(l.Record)
	}
	e := k.Entry(&k.queue.Queue)
	e.State = k.state
	return e
}

// QueueInfo returns the state of one queue.
func (s *Store) QueueInfo(ctx context.Context, name, queue string) (store.QueueInfo, error) {
	name, err := sched.CrawlName(name)
	if err := s.enter(ctx, err); err != nil {
		return store.QueueInfo{}, err
	}
	defer s.mu.Unlock()
	if c := s.crawls[name]; c != nil {
		c.Advance(s.now())
		if q := c.queues[queue]; q != nil && q.Exists() {
			return q.Info(), nil
		}
	}
	return store.QueueInfo{}, fmt.Errorf("cannot find queue %q of crawl %q: %w", queue, name, store.ErrNotFound)
}

// Stats returns exact counts.
func (s *Store) Stats(ctx context.Context, name string) (store.Stats, error) {
	name, err := sched.CrawlNames(name)
	if err := s.enter(ctx, err); err != nil {
		return store.Stats{}, err
	}
	defer s.mu.Unlock()
	var sum store.Stats
	now := s.now()
	for _, c := range s.crawls {
		if name == c.Name || name == sched.AnyCrawl {
			c.Advance(now)
			c.AddTo(&sum)
			sum.Seen += int64(len(c.known))
		}
	}
	return sum, nil
}

// Crawls lists the crawls in order of name.
func (s *Store) Crawls(ctx context.Context) ([]string, error) {
	if err := s.enter(ctx, nil); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return names(s.crawls), nil
}

// NameCrawls implements store.Store.
func (s *Store) NameCrawls(ctx context.Context, names, stored []string) error {
	if err := s.enter(ctx, sched.CheckNames(names, stored)); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.names.Claim(names, stored)
	return nil
}

// Queues lists queues as they are when the listing begins.
func (s *Store) Queues(ctx context.Context, name, after string) iter.Seq2[store.QueueInfo, error] {
	name, err := sched.CrawlOfQueue(name, after)
	return listed(ctx, s, err, func() (list []store.QueueInfo) {
		for _, c := range s.selected(name) {
			c.Advance(s.now())
			for _, name := range names(c.queues) {
				if q := c.queues[name]; name > after && q.Exists() {
					list = append(list, q.Info())
				}
			}
		}
		return list
	})
}

// selected returns one crawl, or all in order of name.
func (s *Store) selected(name string) []*crawl {
	var list []*crawl
	for _, n := range names(s.crawls) {
		if n == name || name == sched.AnyCrawl {
			list = append(list, s.crawls[n])
		}
	}
	return list
}

// Entries lists URLs as they are when the listing begins.
func (s *Store) Entries(ctx context.Context, name, queue string) iter.Seq2[store.Entry, error] {
	name, err := sched.CrawlName(name)
	return listed(ctx, s, err, func() []store.Entry {
		if c := s.crawls[name]; c != nil {
			return c.entries(queue)
		}
		return nil
	})
}

// entries returns the URLs with text of one queue or all.
func (c *crawl) entries(queue string) []store.Entry {
	var list []*known
	for _, k := range c.known {
		if k.state != store.SeenOnly && (queue == "" || k.queue.Name == queue) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, c.compare)
	out := make([]store.Entry, len(list))
	for i, k := range list {
		out[i] = c.entry(k)
	}
	return out
}

// rank orders the states in a listing.
var rank = [...]int{store.Done: 0, store.Dropped: 0, store.Leased: 1, store.Queued: 2}

// compare orders URLs as a crawl lists them.
func (c *crawl) compare(a, b *known) int {
	switch {
	case a.queue != b.queue:
		return strings.Compare(a.queue.Name, b.queue.Name)
	case rank[a.state] != rank[b.state]:
		return rank[a.state] - rank[b.state]
	case a.state == store.Leased:
		return c.Leases[a.Key].Compare(c.Leases[b.Key])
	case a.state == store.Queued:
		return a.compare(b)
	}
	return a.Key.Compare(b.Key)
}

// Keys lists keys as they are when the listing begins.
func (s *Store) Keys(ctx context.Context, name string) iter.Seq2[store.Key, error] {
	name, err := sched.CrawlName(name)
	return listed(ctx, s, err, func() []store.Key {
		if c := s.crawls[name]; c != nil {
			return slices.SortedFunc(maps.Keys(c.known), store.Key.Compare)
		}
		return nil
	})
}

// listed yields the result of get, which is called with the store locked, or an error: bad, the arguments' error, if there is one.
func listed[T any](ctx context.Context, s *Store, bad error, get func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := s.enter(ctx, bad); err != nil {
			var none T
			yield(none, err)
			return
		}
		list := get()
		s.mu.Unlock()
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}
