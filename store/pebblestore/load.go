package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// With Options.LoadBehind, Open returns when queues and leases are in memory,
// and the index of keys is filled behind it. What a lease, its settlement, a
// setting or a listing needs is all there: they go on meanwhile. A step that
// asks whether a key is new waits for the index.
//
// The index is filled from a snapshot of the rows as they were at open. No step
// that goes on meanwhile adds or removes a seen row, so the snapshot stays true.

// early is a step that may be carried out before the index is there.
type early interface {
	// early reports whether the step asks no key whether it is new, and makes
	// and forgets none.
	early() bool
}

func (o *takeOp) early() bool      { return true }
func (o *configureOp) early() bool { return true }
func (readOp) early() bool         { return true }

// early wants every settlement to name its lease: those that don't may make keys.
func (o *settleOp) early() bool {
	for i := range o.list {
		if o.list[i].Token == 0 {
			return false
		}
	}
	return true
}

// indexed reports whether the index is there.
func (s *Store) indexed() bool {
	select {
	case <-s.loaded:
		return true
	default:
		return false
	}
}

// isClosing reports whether Close was called.
func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// awaitIndex waits until o may be carried out.
func (s *Store) awaitIndex(ctx context.Context, o op) error {
	if s.indexed() {
		return s.loadErr
	}
	if e, ok := o.(early); ok && e.early() && !s.indexed() {
		return nil
	}
	select {
	case <-s.loaded:
		return s.loadErr
	case <-ctx.Done():
		return ctx.Err()
	case <-s.dead:
		return s.failure()
	case <-s.closing:
		return store.ErrClosed
	}
}

// loadIndex fills the index of keys, now or behind.
func (s *Store) loadIndex() error {
	for _, c := range s.crawls {
		c.seen = s.newSeen(c)
	}
	if s.opt.LoadBehind && !s.opt.Repair && !s.opt.ReadOnly && s.keys() > 0 {
		s.behind.Go(s.loadBehind(s.copies(), s.db.NewSnapshot()))
		return nil
	}
	for _, c := range s.crawls {
		if err := s.loadCrawlKeys(s.db, c, c.seen); err != nil {
			return err
		}
	}
	s.indexReady(nil)
	return nil
}

// indexReady lets in the steps that wait for the index, and the compactions. An
// error is what every step is answered from now on.
func (s *Store) indexReady(err error) {
	s.loadErr = err
	close(s.loaded)
	s.compactions.begin()
}

// copies returns the crawls with their generations as they are now.
func (s *Store) copies() map[*crawl]*crawl {
	copies := make(map[*crawl]*crawl, len(s.crawls))
	for _, c := range s.crawls {
		copied := &crawl{num: c.num, name: c.name}
		for _, g := range c.gens {
			copied.gens = append(copied.gens, &generation{num: g.num, keys: g.keys})
		}
		copies[c] = copied
	}
	return copies
}

// loadBehind returns what fills the index of the crawls from a snapshot.
func (s *Store) loadBehind(crawls map[*crawl]*crawl, snapshot *pebble.Snapshot) func() {
	return func() {
		if s.opt.holdLoad != nil {
			select {
			case <-s.opt.holdLoad:
			case <-s.closing:
			}
		}
		sets := make(map[*crawl]seenSet, len(crawls))
		var err error
		for c, copied := range crawls {
			sets[c] = s.newSeen(c)
			if err == nil {
				err = s.loadCrawlKeys(snapshot, copied, sets[c])
			}
		}
		if err = errors.Join(err, s.unlessDead(snapshot.Close)); err != nil {
			err = fmt.Errorf("cannot load the keys of store %s: %w", s.dir, corruption(err))
		}
		s.indexReady(errors.Join(err, s.useSets(sets)))
	}
}

// useSets puts the sets that were filled in the place of the empty ones.
func (s *Store) useSets(sets map[*crawl]seenSet) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for c, set := range sets {
		c.seen.close()
		c.seen = set
	}
	return nil
}
