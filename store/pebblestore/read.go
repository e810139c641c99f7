package pebblestore

import (
	"cmp"
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/crawlnames"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// usable returns ErrClosed after Close, and ErrFailed if the store has failed.
func (s *Store) usable() error {
	if s.isClosing() {
		return store.ErrClosed
	}
	return s.failure()
}

// linger makes Close wait for work between steps, until the work calls the returned function. The work
// must end when isClosing returns true, or a step fails.
func (s *Store) linger() (func(), error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.behind.Add(1)
	return s.behind.Done, nil
}

// Identity implements store.Store. It takes no lock: that of a failed store may never be free.
func (s *Store) Identity() store.Identity { return *s.identity.Load() }

// Crawls implements store.Store.
func (s *Store) Crawls(ctx context.Context) ([]string, error) {
	if err := s.rlock(); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	names := []string{}
	for _, c := range s.selected("*", "") {
		names = append(names, c.name)
	}
	return names, nil
}

// NameCrawls implements store.Store.
func (s *Store) NameCrawls(ctx context.Context, names, stored []string) error {
	if err := cmp.Or(crawlnames.Check(names, stored), s.usable(), ctx.Err()); err != nil {
		return err
	}
	s.names.Settle(names, stored)
	return nil
}

// Stats implements store.Store.
func (s *Store) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	for {
		if st, done, err := s.stats(crawl); done || err != nil {
			return st, err
		}
	}
}

// stats counts, unless more leases ran out than it may take note of: then it is not
// done.
func (s *Store) stats(crawl string) (st store.Stats, done bool, err error) {
	if err := s.lock(); err != nil {
		return st, false, err
	}
	defer s.mu.Unlock()
	now, left := sched.Now(s.opt.Clock()), mostRows
	for _, c := range s.selected(crawl, "") {
		if left = c.queues.AdvanceSome(now, left); left == 0 { // the committer waits
			return store.Stats{}, false, nil
		}
		st.Seen += c.count()
		c.queues.AddTo(&st)
	}
	return st, true, nil
}
