package frontier

import (
	"hash/maphash"
	"sync"
)

const (
	queryWays = 8
	querySets = 1 << 13
)

// queryTrap counts distinct new query strings per path in a fixed table of
// 65,536 counters (768 KiB). Where a set of eight is full, its smallest counter
// gives way: a path that grows without end keeps its place, because it is the
// one that is counted most. So a count may be too low, and never too high.
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

// take counts one query string more for a path and says whether that is still
// within the limit; if not, nothing is counted.
func (q *queryTrap) take(h uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
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

// giveBack undoes a take whose URL turned out not to be new.
func (q *queryTrap) giveBack(h uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sets == nil {
		return // reset meanwhile
	}
	set := &q.sets[h%querySets]
	if i := set.find(h); i >= 0 {
		set.count[i]--
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
