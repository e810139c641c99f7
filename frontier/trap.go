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
	// Repeats is how often one segment may occur in a path, or one parameter with its value in a query: /a/b/a/b/a has
	// three times a, and ?a=1&a=2&a=1 twice a=1. The default is 4.
	Repeats int
	// Queries is how many distinct query strings of one path are queued. They are counted
	// from New on in 768 KiB of memory; the counts of rarely seen paths may be lost. So many may be
	// pages; [PagesFirst] fetches what has fewer parameters before them. The default is 50,000.
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
	path, query := pathAndQuery(canonical)
	if query != "" && t.repeats(query, "&", strings.Count(query, "&")+1) {
		return ReasonRepeats
	}
	return t.checkPath(path)
}

func (t *Traps) checkPath(path string) Reason {
	depth := strings.Count(path, "/")
	if strings.HasSuffix(path, "/") {
		depth-- // the empty segment at the end of a directory
	}
	if t.PathDepth > 0 && depth > t.PathDepth {
		return ReasonPathDepth
	}
	if t.repeats(path, "/", depth) {
		return ReasonRepeats
	}
	return ""
}

// repeats reports whether one of the n parts of a path or query occurs too often.
func (t *Traps) repeats(text, separator string, n int) bool {
	if t.Repeats == 0 || n <= t.Repeats {
		return false
	}
	var room [32]string // enough for nearly all paths, without an allocation
	parts := room[:0]
	for part := range strings.SplitSeq(text, separator) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	same := 0
	for i := range parts {
		if i == 0 || parts[i] != parts[i-1] {
			same = 0
		}
		if same++; same > t.Repeats {
			return true
		}
	}
	return false
}

// pathAndQuery returns the path and the query of a canonical form, "" if it has none.
func pathAndQuery(canonical string) (path, query string) {
	canonical, _, _ = strings.Cut(canonical, "#")
	canonical, query, _ = strings.Cut(canonical, "?")
	if i := strings.Index(canonical, "://"); i >= 0 {
		canonical = canonical[i+3:]
	}
	if i := strings.IndexByte(canonical, '/'); i >= 0 {
		path = canonical[i:]
	}
	return path, query
}

const (
	queryWays = 8
	querySets = 1 << 13
)

// queryTrap counts distinct new query strings per path, in a fixed table of
// 65,536 counters (768 KiB). A map would grow with the paths, and anybody can offer paths. If a set
// of eight is full, the smallest counter is evicted: a path that grows without end keeps its place,
// because its counter is large. So a count may be too low, and never too high.
//
// Which URLs of a batch are new is known only once they are stored, and then it is too late to refuse
// one; counting afterwards would let batches of several callers exceed the limit together. So each
// URL reserves a place before the store's step, and the places of those that turn out not to be new
// are released after it.
type queryTrap struct {
	limit uint32
	seed  maphash.Seed

	mu   sync.Mutex
	sets []querySet // guarded by mu; nil until the first URL with a query
}

// querySet is eight counters; count 0 is free.
type querySet struct {
	path  [queryWays]uint64
	count [queryWays]uint32
}

// queryPlace is a place that an offer reserved.
type queryPlace struct {
	at   int // of the offer in its workspace
	path uint64
}

// newQueryTrap returns the table for limits with their defaults, nil if it is off.
func newQueryTrap(t Traps) *queryTrap {
	if t.Queries <= 0 {
		return nil
	}
	return &queryTrap{limit: uint32(min(t.Queries, 1<<31-1)), seed: maphash.MakeSeed()}
}

// pathOf returns what the table counts a canonical form of a crawl by, 0 if it does not count it.
func (q *queryTrap) pathOf(c *crawl, canonical string) uint64 {
	i := strings.IndexByte(canonical, '?')
	if q == nil || i < 0 {
		return 0
	}
	return maphash.Comparable(q.seed, [2]string{c.stored, canonical[:i]})
}

// reserveQueries reserves the places of the offers of a batch, and refuses offers whose path has none
// left. A known URL is no growth: it is never refused.
//
// Nearly every batch finds places for all its URLs, known or not, without a look-up. Only where a path
// is full does it matter which URLs are new: then the batch returns its places on that path, and
// reserves one only for each key that is unknown, once.
func (f *Frontier) reserveQueries(ctx context.Context, w *workspace) (held []queryPlace, err error) {
	if f.queries == nil {
		return nil, nil
	}
	all := make([]queryPlace, 0, len(w.offers))
	for i := range w.offers {
		if o := &w.offers[i]; o.path != 0 && o.result.Status == 0 {
			all = append(all, queryPlace{i, o.path})
		}
	}
	held, over := f.queries.reserve(all)
	if len(over) == 0 {
		return held, nil
	}
	full := make(map[uint64]bool)
	for _, p := range over {
		full[p.path] = true
	}
	exact := over
	held = slices.DeleteFunc(held, func(p queryPlace) bool {
		if full[p.path] {
			exact = append(exact, p)
		}
		return full[p.path]
	})
	f.queries.release(exact[len(over):])
	slices.SortFunc(exact, func(a, b queryPlace) int { return a.at - b.at })
	offers := make([]*offer, len(exact))
	for i, p := range exact {
		offers[i] = &w.offers[p.at]
	}
	known := make(map[store.Key]bool) // or reserved
	err = f.lookupOffers(ctx, w.crawl, offers, func(o *offer, e *store.Entry) error {
		known[o.item.Key] = e.Known()
		return nil
	})
	if err != nil {
		f.queries.release(held)
		return nil, err
	}
	for i, p := range exact {
		o := offers[i]
		if known[o.item.Key] {
			continue
		}
		if got, _ := f.queries.reserve([]queryPlace{p}); len(got) == 0 {
			o.result.refuse(ReasonQueries)
			continue
		}
		known[o.item.Key] = true
		held = append(held, p)
	}
	return held, nil
}

// reserve reserves each of list, and returns those that were within the limit, in the memory of
// list, and the others.
func (q *queryTrap) reserve(list []queryPlace) (within, over []queryPlace) {
	q.mu.Lock()
	defer q.mu.Unlock()
	within = list[:0]
	for _, p := range list {
		if q.take(p.path) {
			within = append(within, p)
		} else {
			over = append(over, p)
		}
	}
	return within, over
}

// take counts one query string more for a path and reports whether that is still
// within the limit; if not, nothing is counted. The caller holds the lock.
func (q *queryTrap) take(path uint64) bool {
	if q.sets == nil {
		q.sets = make([]querySet, querySets)
	}
	set := &q.sets[path%querySets]
	i := set.find(path)
	if i < 0 {
		i = 0
		for j := range set.count {
			if set.count[j] < set.count[i] {
				i = j // the smallest
			}
		}
		set.path[i], set.count[i] = path, 0
	}
	if set.count[i] >= q.limit {
		return false
	}
	set.count[i]++
	return true
}

// release returns places.
func (q *queryTrap) release(list []queryPlace) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sets == nil {
		return // reset in the meantime
	}
	for _, p := range list {
		set := &q.sets[p.path%querySets]
		if i := set.find(p.path); i >= 0 {
			set.count[i]--
		}
	}
}

// reset forgets all counts.
func (q *queryTrap) reset() {
	if q != nil {
		q.mu.Lock()
		q.sets = nil
		q.mu.Unlock()
	}
}

func (s *querySet) find(path uint64) int {
	for i := range s.path {
		if s.path[i] == path && s.count[i] > 0 {
			return i
		}
	}
	return -1
}
