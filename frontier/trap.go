package frontier

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/store"
)

// Traps are limits that URLs of real pages rarely reach, and that endless generated URLs exceed:
// calendars, sessions in the path, links relative to themselves. They apply to canonical forms. The zero value has all
// of them on; a negative number switches one off.
type Traps struct {
	// Off switches all of them off. The default is false.
	Off bool
	// URLLength is the maximum length in bytes. The default is 2048.
	URLLength int
	// PathDepth is the maximum number of segments in the path. The default is 24.
	PathDepth int
	// Repeats is how often one segment may occur in a path: /a/b/a/b/a has
	// three times a. The default is 4.
	Repeats int
	// Queries is how many distinct query strings of one path are queued; batches that are added at once may exceed it. They are counted
	// from New on in 768 KiB of memory; the counts of rarely seen paths may be lost. So many may be
	// pages; [Facets] has a bound that grows with the site. The default is 50,000.
	Queries int
}

func (t Traps) withDefaults() Traps {
	if t.Off {
		return Traps{Off: true}
	}
	t.URLLength = orOff(t.URLLength, 2048)
	t.PathDepth = orOff(t.PathDepth, 24)
	t.Repeats = orOff(t.Repeats, 4)
	t.Queries = orOff(t.Queries, 50_000)
	return t
}

// Check returns the reason to refuse a URL by its canonical form, or "". It ignores Queries. Add
// refuses a Link without SkipTraps for the same reasons.
func (t Traps) Check(canonical string) Reason {
	t = t.withDefaults()
	return t.check(canonical)
}

// check is Check for limits that have their defaults.
func (t *Traps) check(canonical string) Reason {
	if t.URLLength > 0 && len(canonical) > t.URLLength {
		return ReasonTooLong
	}
	if t.PathDepth == 0 && t.Repeats == 0 {
		return ""
	}
	return t.checkPath(pathIn(canonical))
}

func (t *Traps) checkPath(path string) Reason {
	depth := strings.Count(path, "/")
	if strings.HasSuffix(path, "/") {
		depth-- // the empty segment at the end of a directory
	}
	if t.PathDepth > 0 && depth > t.PathDepth {
		return ReasonPathDepth
	}
	if t.Repeats > 0 && depth > t.Repeats && mostRepeated(path) > t.Repeats {
		return ReasonRepeats
	}
	return ""
}

// mostRepeated returns how often the most frequent segment of a path occurs.
func mostRepeated(path string) int {
	var room [32]string // enough for nearly all paths, without an allocation
	segments := room[:0]
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" {
			segments = append(segments, segment)
		}
	}
	slices.Sort(segments)
	most, same := 0, 0
	for i := range segments {
		if i == 0 || segments[i] != segments[i-1] {
			same = 0
		}
		same++
		most = max(most, same)
	}
	return most
}

// pathIn returns the path of a canonical form, "" if it has none.
func pathIn(canonical string) string {
	canonical, _, _ = strings.Cut(canonical, "?")
	canonical, _, _ = strings.Cut(canonical, "#")
	if i := strings.Index(canonical, "://"); i >= 0 {
		canonical = canonical[i+3:]
	}
	if i := strings.IndexByte(canonical, '/'); i >= 0 {
		return canonical[i:]
	}
	return ""
}

const (
	queryWays = 8
	querySets = 1 << 13
)

// queryTrap counts distinct new query strings per path, in a fixed table of
// 65,536 counters (768 KiB). A map would grow with the paths, and anybody can offer paths. If a set
// of eight is full, the smallest counter is evicted: a path that grows without end keeps its place,
// because its counter is large. So a count may be too low.
//
// A URL is counted once the store has said that it is new. Batches that are under way at the same time don't know of each
// other, and together may exceed the limit by what they hold.
type queryTrap struct {
	limit int
	seed  maphash.Seed

	mu   sync.Mutex
	sets []querySet // guarded by mu; nil until the first new URL with a query
	most int        // guarded by mu; no count is larger
}

// querySet is eight counters; count 0 is free.
type querySet struct {
	path  [queryWays]uint64
	count [queryWays]uint32
}

// newQueryTrap returns the table for limits with their defaults, nil if it is off.
func newQueryTrap(t Traps) *queryTrap {
	if t.Queries <= 0 {
		return nil
	}
	return &queryTrap{limit: min(t.Queries, 1<<31-1), seed: maphash.MakeSeed()}
}

// pathOf returns what the table counts a canonical form of a crawl by, 0 if it does not count it.
func (q *queryTrap) pathOf(c *crawl, canonical string) uint64 {
	i := strings.IndexByte(canonical, '?')
	if q == nil || i < 0 {
		return 0
	}
	return maphash.Comparable(q.seed, [2]string{c.stored, canonical[:i]})
}

// limitQueries refuses offers whose path has no room left. A known URL is no growth: it is never refused. Which URLs are new matters, and
// is looked up, only on paths that may have no room for a whole batch.
func (f *Frontier) limitQueries(ctx context.Context, w *workspace) error {
	room := f.queries.scarce(w)
	if room == nil {
		return nil
	}
	fresh := make(map[store.Key]bool)
	for i := range w.offers {
		o := &w.offers[i]
		left, scarce := room[o.path]
		if !scarce || o.result.Status == StatusRefused || fresh[o.item.Key] {
			continue
		}
		_, known, err := f.lookup(ctx, w.crawl, o.item.Key, o.url.URL)
		switch {
		case err != nil:
			return err
		case known:
		case left <= 0:
			o.result.refuse(ReasonQueries)
		default:
			fresh[o.item.Key], room[o.path] = true, left-1
		}
	}
	return nil
}

// scarce returns how many more query strings the paths of a batch may get, of those that may have no room for as many URLs as the batch has.
func (q *queryTrap) scarce(w *workspace) (room map[uint64]int) {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit-q.most >= len(w.offers) {
		return nil
	}
	for i := range w.offers {
		path := w.offers[i].path
		if path == 0 {
			continue
		}
		left := q.limit
		if count := q.find(path); count != nil {
			left -= int(*count)
		}
		if left < len(w.offers) {
			if room == nil {
				room = make(map[uint64]int)
			}
			room[path] = left
		}
	}
	return room
}

// add counts the offers of a batch that were new.
func (q *queryTrap) add(w *workspace) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range w.offers {
		o := &w.offers[i]
		if o.path == 0 || o.result.Status != StatusNew {
			continue
		}
		count := q.find(o.path)
		if count == nil {
			count = q.evict(o.path)
		}
		*count++
		q.most = max(q.most, int(*count))
	}
}

// find returns the counter of a path, nil if it has none. The caller holds the lock.
func (q *queryTrap) find(path uint64) *uint32 {
	if q.sets == nil {
		return nil
	}
	set := &q.sets[path%querySets]
	for i := range set.path {
		if set.path[i] == path && set.count[i] > 0 {
			return &set.count[i]
		}
	}
	return nil
}

// evict gives a path the smallest counter of its set. The caller holds the lock.
func (q *queryTrap) evict(path uint64) *uint32 {
	if q.sets == nil {
		q.sets = make([]querySet, querySets)
	}
	set, i := &q.sets[path%querySets], 0
	for j := range set.count {
		if set.count[j] < set.count[i] {
			i = j
		}
	}
	set.path[i], set.count[i] = path, 0
	return &set.count[i]
}

// reset forgets all counts.
func (q *queryTrap) reset() {
	if q != nil {
		q.mu.Lock()
		q.sets, q.most = nil, 0
		q.mu.Unlock()
	}
}
