package frontier

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// PagesFirst brings the pages of a site before its lists, forms and histories, most of which lead nowhere:
//
//	var first frontier.PagesFirst
//	opt.Rank = first.Rank
//	...
//	results, err := f.AddBatch(ctx, frontier.Links(lease, links...))
//	first.Fetched(lease.URL, results) // each page, also if it has no links
//
// URLs with fewer parameters come first. A kind of URLs of which one fetch in five at most led to a new page comes behind URLs with
// two parameters more. Nothing is refused: a crawl that runs to its end fetches the same URLs, and one that is limited, or
// interrupted, has the pages first.
//
// A page leads to a new one by a new link whose path was not offered before, of another kind than the page. Days of a calendar that
// lead only to more days do not: with links of any kind, a calendar drowned its events. Nor do other queries of a path, as lists have.
// To put a kind that leads nowhere behind all others was tried, too: reviews of a shop, which
// have no links of their own, came after its filters. So was the share of a page's text that was never seen before: threads of a
// mailing list show messages before these are read, which then count for nothing.
//
// A kind is the URLs with one set of parameters in one directory, or, while fewer than four of these were fetched, in all directories beside it.
// Parts of a path with a digit are equal. Kinds are kept in memory, at most 65,536 of them in some 4 MiB with 65,536 paths, and begin with the process; those that
// come later are ranked by their parameters alone.
//
// The zero value works, and serves one crawl. Safe for concurrent use.
type PagesFirst struct {
	mu    sync.Mutex
	seed  maphash.Seed // made at the first page
	kinds map[uint64]pageKind
	paths []uint64 // hashes of those of new links: the latest of each place, which is a part of the hash
}

// pageKind counts the latest fetches of a kind.
type pageKind struct{ fetches, led uint8 }

const (
	maxPageKinds = 1 << 16
	latestPaths  = 1 << 16
	mostRanked   = 3 // parameters that make a difference
	leadsNowhere = 2 // so many parameters more
	enoughPages  = 4
	latestPages  = 32
	leadsRarely  = 5 // one fetch in so many
)

// Fetched takes what became of the links of a page. Where rules change URLs, page is its canonical form: kinds are those of
// canonical forms, and one that rules change would be learned under names that Rank never sees.
func (p *PagesFirst) Fetched(page string, links []Result) {
	own := pageKinds(page)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kinds == nil {
		p.seed, p.kinds, p.paths = maphash.MakeSeed(), make(map[uint64]pageKind), make([]uint64, latestPaths)
	}
	led := false
	for i := range links {
		r := &links[i]
		if r.Status != StatusNew {
			continue // its path was there when it was new
		}
		path, _, _ := strings.Cut(r.Canonical, "?")
		hash := maphash.String(p.seed, path)
		if at := &p.paths[hash%latestPaths]; *at != hash {
			*at, led = hash, led || pageKinds(r.Canonical)[0] != own[0]
		}
	}
	for _, name := range slices.Compact(own[:]) { // at the top of a site, both are one
		id := maphash.String(p.seed, name)
		k, ok := p.kinds[id]
		if !ok && len(p.kinds) >= maxPageKinds {
			continue
		}
		if k.fetches == latestPages {
			k.fetches, k.led = k.fetches/2, k.led/2
		}
		k.fetches++
		if led {
			k.led++
		}
		p.kinds[id] = k
	}
}

// Rank is for [Options.Rank].
func (p *PagesFirst) Rank(canonical string) (rank int) {
	if _, query, ok := strings.Cut(canonical, "?"); ok {
		rank = min(strings.Count(query, "&")+1, mostRanked)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kinds == nil {
		return rank
	}
	for _, name := range pageKinds(canonical) {
		if k := p.kinds[maphash.String(p.seed, name)]; k.fetches >= enoughPages {
			if k.led*leadsRarely <= k.fetches {
				rank += leadsNowhere
			}
			break
		}
	}
	return rank
}

// pageKinds returns the names of the kinds of a URL, the smaller first.
func pageKinds(url string) (kinds [2]string) {
	url, query, _ := strings.Cut(url, "?")
	_, path, _ := strings.Cut(url, "://")
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		if strings.ContainsAny(parts[i], "0123456789") {
			parts[i] = "0"
		}
	}
	var params []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		params = append(params, name)
	}
	slices.Sort(params)
	last := len(parts) - 1
	if parts[last] == "" { // a slash at the end is no part
		last--
	}
	for i := range kinds {
		if at := last - i; at > 0 {
			parts[at] = "*"
		}
		kinds[i] = strings.Join(parts, "/") + "?" + strings.Join(slices.Compact(params), "&")
	}
	return kinds
}
