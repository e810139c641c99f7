package pebblestore

import (
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// indexPhase is what the fingerprint index is used for.
type indexPhase int

const (
	noIndex  indexPhase = iota // the tables of packed keys and the runs answer
	filling                    // they do, until the index has all keys
	answers                    // the index does
	outgrown                   // it does, until a flush has ended that begins in this phase
)

// IndexInfo is what Store.Index reports.
type IndexInfo struct {
	// Fingerprints reports whether a fingerprint index answers, or is being filled to
	// do so; otherwise the key runs answer.
	Fingerprints bool
	// Filling reports whether the index is being filled after open. Until then
	// the key runs answer.
	Filling bool
	Keys    int64
	Bytes   int64 // of memory
	// Mapped is the size of the run files, which the page cache has in memory as
	// far as there is room.
	Mapped int64
	// Err is the first damage of a run file that was met since Open, with an index or without. Keys
	// in the damaged part are refused, and those alone. An index that cannot be filled for that gives way to the runs.
	Err error
	// WronglyDropped is the expected number of URLs wrongly called duplicates
	// while the present keys were added in turn.
	WronglyDropped float64
}

// Mode names what answers: "index" or "runs".
func (i IndexInfo) Mode() string {
	switch {
	case i == IndexInfo{}:
		return ""
	case i.Fingerprints && !i.Filling:
		return "index"
	}
	return "runs"
}

// Index reports how keys are looked up. Of a store that failed or was closed it
// returns the zero IndexInfo.
func (s *Store) Index() IndexInfo {
	if s.rlock() != nil {
		return IndexInfo{}
	}
	defer s.mu.RUnlock()
	info := IndexInfo{Fingerprints: s.index != noIndex, Filling: s.index == filling, Keys: s.keys(), Bytes: s.setBytes(), Err: s.damage.first()}
	counted := map[*runfile.File]bool{}
	for g := range s.generations() {
		for _, r := range g.runs {
			if !counted[r.File] {
				counted[r.File] = true
				info.Mapped += r.File.Bytes()
			}
		}
	}
	if s.index != noIndex && !s.opt.Exact {
		for _, c := range s.crawls {
			info.WronglyDropped += seenindex.Odds(float64(c.count()))
		}
	}
	return info
}

// keys is the number of keys of all crawls.
func (s *Store) keys() (n int64) {
	for _, c := range s.crawls {
		n += c.count()
	}
	return n
}

// setBytes is the memory of all sets. The caller holds mu, or is the committer.
func (s *Store) setBytes() (n int64) {
	for _, c := range s.crawls {
		n += c.seen.bytes()
	}
	return n
}

// The index has one bound, Options.IndexBytes: it is used while its memory is within that. At Open, where its memory is not
// known yet, it is filled if the least that it can take is. (Before, Open wanted room for a quarter more than the most: an
// index within its budget was dropped at a restart.)

// fits reports whether an index of n keys may be within its budget.
func (o *Options) fits(n int64) bool {
	switch {
	case o.Mode == OpenReadOnly || o.IndexBytes < 0:
		return false
	case o.IndexBytes == 0:
		return true
	}
	return float64(o.IndexBytes) >= float64(n)*seenindex.LeastPerKey
}

// budgetGroups is how many groups are between two looks at the memory of the index.
const budgetGroups = 64

// keepBudget has the store leave an index that has outgrown its budget: one that is being filled at once, one that answers from a
// flush on, when the tables and runs have all keys.
func (s *Store) keepBudget() {
	if s.opt.IndexBytes == 0 || s.groups.Load()%budgetGroups != 0 || s.setBytes() <= s.opt.IndexBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.index {
	case filling:
		s.leave()
	case answers:
		s.index = outgrown
		s.pokeKeeper()
	}
}

// leave has the tables and runs answer. The memory of the indexes is freed in the
// background.
func (s *Store) leave() {
	var old []*seenindex.Index
	for _, c := range s.crawls {
		old = append(old, c.seen.x)
		c.seen.x = nil
	}
	s.index = noIndex
	go func() {
		for _, x := range old {
			x.Close()
		}
	}()
}

// recordSorted records keys as seen in c, and sets fresh[i] to whether keys[i] was new, for each i of order.
// It returns the keys that cannot be looked up, nil if there are none.
func (tx *txn) recordSorted(c *crawl, keys []store.Key, order []uint32, fresh []bool) (*damagedKeys, error) {
	damaged, err := c.seen.record(keys, order, fresh)
	if err == nil {
		tx.packFresh(c, keys, order, fresh)
	}
	return damaged, err
}

// packFresh writes the keys that are fresh.
func (tx *txn) packFresh(c *crawl, keys []store.Key, order []uint32, fresh []bool) {
	var g *generation
	var n int64
	for _, i := range order {
		if !fresh[i] {
			continue
		}
		if g == nil {
			g = tx.generation(c)
		}
		n++
		if !tx.revive(g, &keys[i]) {
			tx.pack(g, &keys[i])
		}
	}
	if n > 0 {
		tx.recorded(g, n)
	}
}
