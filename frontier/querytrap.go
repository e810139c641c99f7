package frontier

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/firstseen/firstseen/store"
)

const (
	queryWays = 8
	querySets = 1 << 13
)

// queryTrap counts distinct new query strings per path in a fixed table of
// 65,536 counters (768 KiB). If a set of eight is full, the smallest counter is evicted. A path that
// grows without end keeps its place, because its counter is large. So a count may be too low, and never
// too high.
type queryTrap struct {
	limit uint32
	seed  maphash.Seed

	mu   sync.Mutex
	sets []querySet
}

// querySet is eight counters; count 0 is free.
type querySet struct {
	path  [queryWays]uint64
	count [queryWays]uint32
}

type pathKey struct{ crawl, base string }

func newQueryTrap(limit int) *queryTrap {
	if limit <= 0 {
		return nil
	}
	return &queryTrap{limit: uint32(min(limit, 1<<31-1)), seed: maphash.MakeSeed()}
}

// hash stands for a path in the methods below.
func (q *queryTrap) hash(crawl, base string) uint64 {
	return maphash.Comparable(q.seed, pathKey{crawl, base})
}

// takeAll takes for each of list, and returns those that were within the limit, in the memory of
// list, and the others.
func (q *queryTrap) takeAll(list []counted) (within, over []counted) {
	q.mu.Lock()
	defer q.mu.Unlock()
	within = list[:0]
	for _, n := range list {
		if q.take(n.path) {
			within = append(within, n)
		} else {
			over = append(over, n)
		}
	}
	return within, over
}

// take counts one query string more for a path and reports whether that is still
// within the limit; if not, nothing is counted. The caller holds the lock.
func (q *queryTrap) take(h uint64) bool {
	if q.sets == nil {
		q.sets = make([]querySet, querySets)
	}
	set := &q.sets[h%querySets]
	i := set.find(h)
	if i < 0 {
		i = set.smallest()
		set.path[i], set.count[i] = h, 0
	}
	if set.count[i] >= q.limit {
		return false
	}
	set.count[i]++
	return true
}

// giveBack undoes takes whose URLs turned out not to be new.
func (q *queryTrap) giveBack(list []counted) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sets == nil {
		return // reset in the meantime
	}
	for _, n := range list {
		set := &q.sets[n.path%querySets]
		if i := set.find(n.path); i >= 0 {
			set.count[i]--
		}
	}
}

// reset forgets all counts.
func (q *queryTrap) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sets = nil
}

func (s *querySet) find(h uint64) int {
	for i := range s.path {
		if s.path[i] == h && s.count[i] > 0 {
			return i
		}
	}
	return -1
}

func (s *querySet) smallest() int {
	least := 0
	for i := range s.count {
		if s.count[i] < s.count[least] {
			least = i
		}
	}
	return least
}

// queryCounts counts the query strings of one batch before it is stored, when
// it isn't known yet which of its URLs are new. Each takes a place, and those
// that turn out not to be new give it back. Only where a path has no place left
// is it worth finding out who sits there.
type queryCounts struct {
	f       *Frontier
	offers  []offer
	counted []counted
	tight   map[uint64]map[store.Key]bool // keys with a place, of paths that were full
}

// counted is an offer that has a place, and the hash of its path.
type counted struct {
	at   int // among the offers
	path uint64
}

// pathHash returns what the trap counts an offer by, 0 if it counts none.
func (q *queryTrap) pathHash(o *offer) uint64 {
	if q == nil || o.url.SkipTraps {
		return 0
	}
	base, ok := withoutQuery(o.result.Canonical)
	if !ok {
		return 0
	}
	return q.hash(o.crawl.stored, base)
}

// count refuses the offers that would be too many for their path. One that is
// known is no growth, and stays.
func (c *queryCounts) count(ctx context.Context) error {
	if c.f.queries == nil {
		return nil
	}
	list := make([]counted, 0, len(c.offers))
	for i := range c.offers {
		if o := &c.offers[i]; o.path != 0 && o.result.Status != StatusRefused {
			list = append(list, counted{i, o.path})
		}
	}
	var over []counted
	c.counted, over = c.f.queries.takeAll(list)
	for _, n := range over {
		if err := c.one(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *queryCounts) one(ctx context.Context, n counted) error {
	full := c.tight[n.path]
	if full == nil {
		if c.take(n) {
			return nil
		}
		if err := c.tighten(ctx, n.path); err != nil {
			return err
		}
		full = c.tight[n.path]
	}
	o := &c.offers[n.at]
	known, err := c.known(ctx, o)
	if known || err != nil || full[o.item.Key] {
		return err
	}
	if !c.take(n) {
		o.result.refuse(ReasonQueries)
		return nil
	}
	full[o.item.Key] = true
	return nil
}

func (c *queryCounts) take(n counted) bool {
	within, _ := c.f.queries.takeAll([]counted{n})
	c.counted = append(c.counted, within...)
	return len(within) > 0
}

// tighten frees the places of a path that this batch took for URLs that won't
// be new: repeated in the batch, or known.
func (c *queryCounts) tighten(ctx context.Context, path uint64) error {
	keys := make(map[store.Key]bool)
	kept := c.counted[:0]
	for i, n := range c.counted {
		if n.path != path {
			kept = append(kept, n)
			continue
		}
		o := &c.offers[n.at]
		known, err := c.known(ctx, o)
		if err != nil {
			c.counted = append(kept, c.counted[i:]...)
			return err
		}
		if known || keys[o.item.Key] {
			c.f.queries.giveBack([]counted{n})
			continue
		}
		keys[o.item.Key] = true
		kept = append(kept, n)
	}
	c.counted = kept
	if c.tight == nil {
		c.tight = make(map[uint64]map[store.Key]bool)
	}
	c.tight[path] = keys
	return nil
}

func (c *queryCounts) known(ctx context.Context, o *offer) (bool, error) {
	_, err := c.f.store.Lookup(ctx, o.crawl.stored, o.item.Key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look up %q: %w", o.url.URL, err)
	}
	return true, nil
}

// settle releases the places of offers that did not become new, or of all offers if nothing was
// stored.
func (c *queryCounts) settle(stored bool) {
	back := c.counted[:0]
	for _, n := range c.counted {
		if !stored || c.offers[n.at].result.Status != StatusNew {
			back = append(back, n)
		}
	}
	c.f.queries.giveBack(back)
}
