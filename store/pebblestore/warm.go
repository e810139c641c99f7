package pebblestore

import (
	"context"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/mmap"
)

// warmAfter is how many keys callers look for without a read of the disk before the runs count as cached.
const warmAfter = 1 << 16

// cold says whether look-ups in runs may have to wait for the disk, since the page cache lacks them, as after a
// start of the machine. It is the number of keys that are still looked for as if they had to.
type cold struct{ left atomic.Int64 }

// watch calls find, which looks for n keys, and notes whether the process read the disk in the meantime.
func (c *cold) watch(n int, find func()) {
	before := mmap.DiskReads()
	find()
	if mmap.DiskReads() > before {
		c.left.Store(warmAfter)
	} else if c.left.Load() > 0 {
		c.left.Add(-int64(n))
	}
}

// find carries out a step that looks for keys of a crawl.
func (s *Store) find(ctx context.Context, o op, crawl string, keys []store.Key, order []uint32) error {
	if err := s.warm(ctx, crawl, keys, order); err != nil {
		return err
	}
	return s.do(ctx, o)
}

// warm reads what the runs need to find keys, while the page cache may lack it. The committer, which looks for them
// afterwards, then does not hold up other callers while it waits for the disk.
func (s *Store) warm(ctx context.Context, crawl string, keys []store.Key, order []uint32) error {
	if s.cold.left.Load() <= 0 {
		return nil
	}
	var runs []*run
	err := s.do(ctx, readOp(func(*txn) error {
		if c := s.crawls[crawl]; c != nil && !c.seen.trusted() {
			for _, g := range c.gens {
				for _, r := range g.runs {
					r.File.Use()
					runs = append(runs, r)
				}
			}
		}
		return nil
	}))
	known := make([]bool, len(keys))
	s.cold.watch(len(keys), func() {
		for _, r := range runs {
			if err == nil {
				_ = r.FindCold(keys, order, known) // the committer reports errors
			}
			r.File.Release()
		}
	})
	return err
}
