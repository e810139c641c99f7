package pebblestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Steps on keys alone: See records them, Known and Lookup look them up. Keys in the key files of other crawls (AlsoSeen) count as seen:
// the caller's goroutine looks there before the step, and keys that it finds do not reach the committer.

// See implements store.Store.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return err
	}
	if len(keys) != len(fresh) {
		return fault.As(store.ErrInvalid, "cannot record keys; got %d keys and room for %d answers; want as many answers as keys", len(keys), len(fresh))
	}
	if err := s.Identity().Stated(); err != nil {
		return fmt.Errorf("cannot record keys: %w", err)
	}
	paths, err := s.seenIn(crawl, keys)
	if err != nil {
		return err
	}
	return s.see(ctx, seeOp{crawl: crawl, opt: opt}, keys, fresh, paths)
}

// Known sets known[i] to whether keys[i] was seen in crawl, at a small part of the cost of Lookup. Keys that are recorded while it runs may be
// known or not. The slices have equal length. Key files are ignored. The error is store.DamagedKeys if some keys cannot be looked up.
func (s *Store) Known(ctx context.Context, crawl string, keys []store.Key, known []bool) error {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return err
	}
	if len(keys) != len(known) {
		return fault.As(store.ErrInvalid, "cannot look up keys; got %d keys and room for %d answers; want as many answers as keys", len(keys), len(known))
	}
	return s.see(ctx, seeOp{crawl: crawl, asks: true}, keys, known, nil)
}

// see carries out a step for the keys that are in no key file, and sets the answers.
func (s *Store) see(ctx context.Context, step seeOp, keys []store.Key, answers []bool, paths []string) error {
	sorter := sorters.Get().(*sorter)
	o := &sorter.see
	o.crawl, o.asks, o.opt, o.done, o.damaged = step.crawl, step.asks, step.opt, 0, nil
	o.keys = append(o.keys[:0], keys...)
	o.answers = slices.Grow(o.answers[:0], len(keys))[:len(keys)]
	clear(o.answers)
	if o.order = outside(sorter.sort(o.keys), paths); len(o.order) == 0 {
		clear(answers)
		return s.usable()
	}
	do := s.do
	if o.asks {
		do = s.submit
	}
	err := s.warm(ctx, o.crawl, o.keys, o.order)
	if err == nil {
		err = do(ctx, len(o.order), o.apply)
	}
	if err != nil {
		return err
	}
	copy(answers, o.answers)
	if o.damaged != nil {
		damaged := &store.DamagedKeys{Err: o.damaged.err}
		for _, i := range o.damaged.at {
			damaged.At = append(damaged.At, int(i))
		}
		slices.Sort(damaged.At)
		err = damaged
	}
	sorters.Put(sorter)
	return err
}

// seeOp records keys, or asks which are known. Its slices are its own.
type seeOp struct {
	crawl   string
	asks    bool
	opt     store.SeeOptions
	keys    []store.Key
	order   []uint32 // of the keys, made by the caller's goroutine
	answers []bool
	done    int          // keys of the order in the parts before
	damaged *damagedKeys // of the batch
}

// seenOfRow is the cost of finding a row, in keys recorded.
const seenOfRow = 32

func (o *seeOp) apply(tx *txn) (err error) {
	hi := min(len(o.order), o.done+seenOfRow*tx.left.rows)
	part := o.order[o.done:hi]
	var damaged *damagedKeys
	if c := tx.crawl(o.crawl, !o.asks); !o.asks {
		damaged, err = tx.recordSorted(c, o.keys, part, o.answers)
	} else if c != nil {
		damaged, err = c.seen.find(o.keys, part, o.answers)
	}
	if err != nil {
		return err
	}
	if o.damaged == nil {
		o.damaged = damaged
	} else if damaged != nil {
		o.damaged.at = append(o.damaged.at, damaged.at...)
	}
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	if o.done = hi; hi == len(o.order) {
		return nil
	}
	if o.asks {
		return errMore
	}
	return errRest
}

// AlsoSeen is a key file whose keys count as seen: see Options.AlsoSeen.
type AlsoSeen struct {
	Path  string
	Crawl string // as the store names it; "" is all crawls
}

func (s *Store) openAlsoSeen() error {
	for _, f := range s.opt.AlsoSeen {
		set, err := crawlfile.OpenSet(f.Path)
		if err != nil {
			return err
		}
		s.also = append(s.also, alsoSet{set, f.Crawl})
		if id := s.Identity(); id != (store.Identity{}) {
			if err := accepts(id, set.Header()); err != nil {
				return fmt.Errorf("cannot use key file %s: %w", f.Path, err)
			}
		}
	}
	return nil
}

// alsoSet is an open key file, and the crawl that it is for.
type alsoSet struct {
	*crawlfile.Set
	crawl string
}

// accepts returns an error if the keys of a file and of the store are made differently.
func accepts(have store.Identity, h crawlfile.Header) error {
	_, err := h.Identity.Adopt(have, false, h.UnicodeHosts)
	return err
}

// seenIn returns for each key the path of the key file that has it, "" for others;
// nil if no file has any.
func (s *Store) seenIn(crawl string, keys []store.Key) (paths []string, err error) {
	if len(s.also) == 0 {
		return nil, nil
	}
	s.gate.RLock() // Close unmaps the files
	defer s.gate.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	for _, f := range s.also {
		if f.crawl != "" && f.crawl != crawl {
			continue
		}
		known := make([]bool, len(keys))
		n, err := f.Find(keys, known)
		if err != nil {
			return nil, err
		}
		if n > 0 && paths == nil {
			paths = make([]string, len(keys))
		}
		for i := range known {
			if known[i] && paths[i] == "" {
				paths[i] = f.Path()
			}
		}
	}
	return paths, nil
}

// outside returns the indexes of the keys that are in no key file.
func outside(order []uint32, paths []string) []uint32 {
	if paths == nil {
		return order
	}
	return slices.DeleteFunc(order, func(i uint32) bool { return paths[i] != "" })
}
