package pebblestore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// crawl is the state of one crawl in memory. The committer alone writes it,
// holding Store.mu; readers hold it for reading.
type crawl struct {
	num  uint32 // never used again, so that rows of a forgotten crawl can't come back
	name string
	// gens are its generations, oldest first; the last takes new keys.
	gens []*generation
	seen *keySet
	// queues is the queue side's state of the crawl.
	queues crawlQueues
	gone   bool // it was forgotten
}

// generation is the keys first recorded in one span of time. Its number
// leads the keys of its rows, so it can be dropped with range deletions.
type generation struct {
	c       *crawl
	num     uint32
	created time.Time
	last    time.Time // when a key was last recorded
	keys    int64
	low     *store.Key // keys up to it are forgotten, while the generation is; nil: none
	dirty   bool       // its row is to be written with the group
	gone    bool       // it was dropped

	runs    []*run
	frozen  packedKeys             // of packed rows, of which a flush makes a run
	rows    packedKeys             // packed since
	pending []byte                 // keys that are packed with the group
	dead    map[store.Key]struct{} // with a tombstone
	// purging are those that the next merge of all runs leaves out; nothing writes
	// to the map, and revived those of them that were recorded again since.
	purging, revived map[store.Key]struct{}
}

// generationLen is the length of the value of a generation row without low.
const generationLen = 4 + 8 + 8 + 8

// appendGeneration appends the value of the row of g.
func appendGeneration(dst []byte, crawl uint32, g *generation) []byte {
	dst = binary.BigEndian.AppendUint32(dst, crawl)
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.created.UnixNano()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.last.UnixNano()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.keys))
	if g.low != nil {
		dst = append(dst, g.low[:]...)
	}
	return dst
}

// parseGeneration is the inverse of appendGeneration, for a row and its key.
func parseGeneration(key, value []byte) (crawl uint32, g *generation, err error) {
	if len(key) != 5 || len(value) != generationLen && len(value) != generationLen+keyLen {
		return 0, nil, fmt.Errorf("cannot read generation row %x; got %d bytes; want %d: %w", key, len(value), generationLen, store.ErrCorrupt)
	}
	nano := func(b []byte) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(b))) }
	g = &generation{
		num:     binary.BigEndian.Uint32(key[1:]),
		created: nano(value[4:]),
		last:    nano(value[12:]),
		keys:    int64(binary.BigEndian.Uint64(value[20:])),
	}
	if g.keys < 0 || g.keys > mostCount {
		return 0, nil, fmt.Errorf("cannot read generation row %x; got %d keys: %w", key, g.keys, store.ErrCorrupt)
	}
	if len(value) > generationLen {
		g.low = new(store.Key(value[generationLen:]))
	}
	return binary.BigEndian.Uint32(value), g, nil
}

// count returns how many keys the crawl has seen.
func (c *crawl) count() int64 {
	var n int64
	for _, g := range c.gens {
		n += g.keys
	}
	return n
}

// selected returns the crawls meant by a caller's name, of all crawls those from one on in order of
// name. The slice is good until a crawl comes or goes.
func (s *Store) selected(name, first string) []*crawl {
	if name == sched.AnyCrawl {
		i, _ := s.placeOf(first)
		return s.byName[i:]
	}
	if c := s.crawls[cmp.Or(name, store.DefaultCrawl)]; c != nil {
		return []*crawl{c}
	}
	return nil
}

// placeOf returns where a name is, or would be, among the crawls.
func (s *Store) placeOf(name string) (int, bool) {
	return slices.BinarySearchFunc(s.byName, name, func(c *crawl, name string) int { return cmp.Compare(c.name, name) })
}

func (s *Store) addCrawl(c *crawl) {
	c.queues = crawlQueues{Crawl: s.sched.NewCrawl(c.name), next: 1}
	s.crawls[c.name], s.byNum[c.num] = c, c
	i, _ := s.placeOf(c.name)
	s.byName = slices.Insert(s.byName, i, c)
}

// pruneCrawls takes the crawls that are forgotten out of the lists.
func (s *Store) pruneCrawls() {
	if len(s.byName) > len(s.crawls) {
		s.byName = slices.DeleteFunc(s.byName, func(c *crawl) bool { return c.gone })
		s.sched.DropEmpty()
	}
}
