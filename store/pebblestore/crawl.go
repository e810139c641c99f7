package pebblestore

import (
	"cmp"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// crawl is the state of one crawl in memory. The committer alone writes it,
// holding Store.mu; readers hold it for reading.
type crawl struct {
	num  uint32 // never used again, so that rows of a forgotten crawl can't come back
	name string
	// gens are its generations, oldest first; the last takes new keys.
	gens []*generation
	seen *seenindex.Index
	// queues is the queue side's state of the crawl.
	queues queueState
}

// generation is a run of keys first recorded in one span of time. Its number
// leads the keys of its rows, so it can be dropped with one range deletion.
type generation struct {
	num     uint32
	created time.Time
	keys    int64
	dirty   bool // its row differs from the count here
}

// count returns how many keys the crawl has seen.
func (c *crawl) count() int64 {
	var n int64
	for _, g := range c.gens {
		n += g.keys
	}
	return n
}

// crawlName maps a caller's crawl name to the stored one.
func crawlName(name string) string {
	if name == "" {
		return store.DefaultCrawl
	}
	return name
}

// selected returns the crawls meant by a caller's name, in order of name.
func (s *Store) selected(name string) []*crawl {
	if name != "*" {
		if c := s.crawls[crawlName(name)]; c != nil {
			return []*crawl{c}
		}
		return nil
	}
	all := make([]*crawl, 0, len(s.crawls))
	for _, c := range s.crawls {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *crawl) int { return cmp.Compare(a.name, b.name) })
	return all
}
