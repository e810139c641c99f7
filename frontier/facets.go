package frontier

import (
	"hash/maphash"
	"math"
	"math/bits"
	"strings"
	"sync"
)

// Facets keeps the filters of a site from crowding out its pages. Its method Lower is for [Options.Lower]:
//
//	frontier.Options{Lower: new(frontier.Facets).Lower}
//
// A list with filters (colour, size, order, page) has a URL for each combination of their values: a shop of 2,000 pages
// easily offers tens of thousands. No fixed limit fits ([Traps].Queries is 50,000), since on another site
// that many URLs of one path are the pages, each with an id of its own. What tells the two apart is how few values the
// combinations are made of: 10,000 topics of a forum have 10,000 ids, 10,000 combinations have fifty values.
//
// So the URLs of a path with two or more parameters are combinations once they are several times as many
// as the values in them. Of these, as many as a tenth of the other URLs that the host has offered keep their
// turn, but at least 64; the rest is fetched after everything else of the host. Nothing is refused: a crawl
// that runs to its end fetches the same URLs, and one that is limited, or interrupted, has the pages first.
//
// The zero value works, and belongs to one frontier. Counts begin with the process and take at most 1.2 MiB, whatever is offered: they
// are estimates, and those of paths with few URLs may be lost. Lower is safe for concurrent use.
type Facets struct {
	mu    sync.Mutex
	paths facetTable // of URLs with two or more parameters, by host and path
	hosts facetTable // of the other URLs, by host
}

const (
	facetsFree  = 64 // combinations of a path that always keep their turn
	facetsShare = 10 // one in so many other URLs of the host, beyond that
	facetsRatio = 4  // combinations for each value that they are made of
)

// facetSeed makes the hashes of all tables; estimates of equal URLs are then equal within a process.
var facetSeed = maphash.MakeSeed()

// Lower reports whether a URL is one of too many combinations. URLs that are queued already keep their place.
func (f *Facets) Lower(canonical string, queued bool) bool {
	if queued {
		return false
	}
	path, query, _ := strings.Cut(canonical, "?")
	query, _, _ = strings.Cut(query, "#")
	host := ByHost(canonical)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.Contains(query, "&") {
		f.hosts.find(host).urls.add(maphash.String(facetSeed, canonical))
		return false
	}
	p := f.paths.find(path)
	p.urls.add(maphash.String(facetSeed, query))
	for pair := range strings.SplitSeq(query, "&") {
		p.values.add(maphash.String(facetSeed, pair))
	}
	n := p.urls.estimate()
	return n > facetsFree && n > facetsRatio*p.values.estimate() && n > facetsFree+f.hosts.find(host).urls.estimate()/facetsShare
}

const (
	facetWays = 8
	facetSets = 1 << 9
)

// facetTable has the counts of 4,096 paths or hosts. If a set of eight is full, the smallest is evicted: one that grows keeps its place.
type facetTable [][facetWays]facetCount // facetSets of them, nil until the first URL

type facetCount struct {
	key          uint64 // 0 for none
	urls, values distinct
}

// find returns the counts of a name, which belong to it until the next call.
func (t *facetTable) find(name string) *facetCount {
	if *t == nil {
		*t = make(facetTable, facetSets)
	}
	key := max(maphash.String(facetSeed, name), 1)
	set := &(*t)[key%facetSets]
	smallest := &set[0]
	for i := range set {
		c := &set[i]
		if c.key == key {
			return c
		}
		if c.urls.sum < smallest.urls.sum {
			smallest = c
		}
	}
	*smallest = facetCount{key: key}
	return smallest
}

// distinct estimates how many different values were added, within about 13 %: a HyperLogLog of 64
// registers (Flajolet et al., 2007), with its correction for small counts.
type distinct struct {
	rank [64]uint8
	sum  uint16 // of the registers; it grows with the estimate
}

func (d *distinct) add(hash uint64) {
	i := hash >> 58
	if r := uint8(bits.LeadingZeros64(hash<<6|1<<5) + 1); r > d.rank[i] {
		d.sum += uint16(r - d.rank[i])
		d.rank[i] = r
	}
}

func (d *distinct) estimate() float64 {
	const m, alpha = 64, 0.709
	var inverse float64
	empty := 0
	for _, r := range d.rank {
		inverse += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	if e := alpha * m * m / inverse; e > 2.5*m || empty == 0 {
		return e
	}
	return m * math.Log(m/float64(empty))
}
