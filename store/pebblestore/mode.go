package pebblestore

import (
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/seenindex"
)

// IndexMode is how a store holds its keys in memory.
type IndexMode string

// The index modes. What they cost at 50 million keys, and what they err:
//
//	mode       memory a key   wrongly dropped of a billion URLs
//	exact128   18 to 21 B     none
//	fp64       9 to 10.4 B    4e-7 expected
//	fp40       6 to 7 B       7 expected
//	flat       10 to 120 MB   none; 16.5 B a key of disk and page cache
//	bounded    as budgeted    none; most duplicates cost a read of Pebble
//
// What flat and bounded cost is of each crawl.
//
// Flat keeps the keys a second time, in sorted files that are mapped into memory
// (see package flatrun), and the newest, a million or three or as many as
// Options.IndexBytes has room for, in tables in memory. What of the files is in
// memory counts in the process's resident size, and is the page cache's: the
// system takes it back when it needs it, and a look-up then reads the disk. A
// store that is opened for reading alone is bounded instead.
const (
	IndexAuto    IndexMode = ""
	IndexFP64    IndexMode = "fp64"
	IndexFP40    IndexMode = "fp40"
	IndexExact   IndexMode = "exact128"
	IndexFlat    IndexMode = "flat"
	IndexBounded IndexMode = "bounded"
)

// IndexInfo is what Store.Index reports.
type IndexInfo struct {
	Mode  IndexMode
	Keys  int64
	Bytes int64 // of memory
	// Mapped is the size of the files of a flat index, which the page cache has
	// in memory as far as there is room.
	Mapped int64
	// WronglyDropped is the expected number of URLs wrongly called duplicates
	// while the keys there now were added one after the other.
	WronglyDropped float64
}

// Index reports how the keys are held in memory. Of a store that failed or is closed it reports
// nothing: the zero IndexInfo.
func (s *Store) Index() IndexInfo {
	info, _ := s.index()
	return info
}

// index is Index with the reason why there is nothing to report.
func (s *Store) index() (IndexInfo, error) {
	if err := s.rlock(); err != nil {
		return IndexInfo{}, err
	}
	defer s.mu.RUnlock()
	if s.crawls == nil {
		return IndexInfo{}, store.ErrClosed
	}
	info := IndexInfo{Mode: s.mode, Keys: s.keys(), Bytes: s.indexBytes()}
	for _, c := range s.crawls {
		if f, ok := c.seen.(*flat); ok {
			info.Mapped += f.mapped.Load()
		}
	}
	if m, ok := s.mode.memory(); ok && !s.opt.Exact {
		for _, c := range s.crawls {
			info.WronglyDropped += seenindex.Odds(m, float64(c.count()))
		}
	}
	return info, nil
}

// memory returns the mode of a memory index.
func (m IndexMode) memory() (seenindex.Mode, bool) {
	switch m {
	case IndexFP64:
		return seenindex.FP64, true
	case IndexFP40:
		return seenindex.FP40, true
	case IndexExact:
		return seenindex.Exact128, true
	}
	return 0, false
}

// checkIndex refuses unknown modes.
func (o *Options) checkIndex() error {
	if _, ok := o.Index.memory(); ok || o.Index == IndexAuto || o.Index == IndexFlat || o.Index == IndexBounded {
		return nil
	}
	return fmt.Errorf("cannot open store; got index mode %q; want fp64, fp40, exact128, flat or bounded: %w", o.Index, store.ErrInvalid)
}

// chooseMode returns the mode for a store of n keys.
func (o *Options) chooseMode(n int64) IndexMode {
	mode := o.Index
	if mode == IndexAuto {
		if mode = IndexFlat; o.IndexBytes <= 0 || fits(seenindex.FP64, n, o.IndexBytes) {
			mode = IndexFP64
		}
	}
	if mode == IndexFlat && o.ReadOnly {
		return IndexBounded // which needs no files of its own
	}
	return mode
}

// fits says whether n keys and a quarter more are within the budget.
func fits(m seenindex.Mode, n, budget int64) bool {
	return float64(n)*1.25*m.BytesPerKey() <= float64(budget)
}

// newSeen returns an empty set for c.
func (s *Store) newSeen(c *crawl) seenSet {
	rows := &rowReader{db: s.db, c: c}
	m, ok := s.mode.memory()
	if s.mode == IndexFlat {
		return newFlat(s, rows)
	}
	if !ok {
		return newBounded(rows, &s.secret, s.opt.IndexBytes)
	}
	set := memory{seenindex.New(m, &s.secret)}
	if s.opt.Exact && s.mode != IndexExact {
		return &exact{memory: set, rows: rows, pending: map[store.Key]struct{}{}}
	}
	return set
}

// keys is the number of keys of all crawls.
func (s *Store) keys() (n int64) {
	for _, c := range s.crawls {
		n += c.count()
	}
	return n
}

func (s *Store) indexBytes() (n int64) {
	for _, c := range s.crawls {
		n += c.seen.bytes()
	}
	return n
}

// keepBudget makes the index flat when it has outgrown its budget. It looks at
// every 64th group. The files are made behind; until then Pebble is asked.
func (s *Store) keepBudget() {
	if !s.indexed() || s.groups.Load()%64 != 0 || s.opt.Index != IndexAuto || s.opt.IndexBytes <= 0 || s.mode == IndexFlat ||
		s.indexBytes() <= s.opt.IndexBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = IndexFlat
	for _, c := range s.crawls {
		set := newFlat(s, &rowReader{db: s.db, c: c})
		set.blind = true
		c.seen.close()
		c.seen = set
	}
}
