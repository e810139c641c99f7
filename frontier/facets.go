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
// that many URLs of one path are the pages, each with its own id. The number of distinct values tells the two apart:
// 10,000 topics of a forum have 10,000 ids, while 10,000 combinations have about fifty values.
//
// So the URLs of a path with two or more parameters are combinations once they are several times as many
// as the values in them. Of these, as many as a tenth of the other URLs that the host has offered keep their
// turn, but at least 64; the rest is fetched after everything else of the host. Nothing is refused: a crawl
// that runs to its end fetches the same URLs, and one that is limited, or interrupted, has the pages first.
//
// The zero value works, and belongs to one frontier. Counts begin with the process and take at most 4.3 MiB, whatever is offered: they
// are estimates, and those of paths with few URLs may be lost. Lower is safe for concurrent use.
type Facets struct {
	mu    sync.Mutex
	seed  maphash.Seed // of all hashes; made at the first URL
	paths facetTable   // of URLs with two or more parameters, by host and path
	hosts facetTable   // of the other URLs, by host
}

const (
	facetsFree  = 64 // combinations of a path that always keep their turn
	facetsShare = 10 // one in so many other URLs of the host, beyond that
	facetsRatio = 5  // combinations for each value that they are made of
)

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
	if f.paths == nil {
		f.seed, f.paths, f.hosts = maphash.MakeSeed(), make(facetTable, facetSets), make(facetTable, facetSets)
	}
	if !strings.Contains(query, "&") {
		f.hosts.find(f.hash(host)).urls.add(f.hash(canonical))
		return false
	}
	p := f.paths.find(f.hash(path))
	p.urls.add(f.hash(query))
	for pair := range strings.SplitSeq(query, "&") {
		p.values.add(f.hash(pair))
	}
	n := p.urls.estimate()
	return n > facetsFree && n > facetsRatio*p.values.estimate() && n > facetsFree+f.hosts.find(f.hash(host)).urls.estimate()/facetsShare
}

func (f *Facets) hash(s string) uint64 { return max(maphash.String(f.seed, s), 1) }

const (
	facetWays = 8
	facetSets = 1 << 8
)

// facetTable has the counts of 2,048 paths or hosts. If a set of eight is full, the smallest is evicted: one that grows keeps its place.
type facetTable [][facetWays]facetCount // facetSets of them

type facetCount struct {
	key          uint64 // 0 for none
	urls, values distinct
}

// find returns the counts of a path or host, by its hash, which belong to it until the next call.
func (t facetTable) find(key uint64) *facetCount {
	set := &t[key%facetSets]
	smallest := &set[0]
	for i := range set {
		c := &set[i]
		if c.key == key {
			return c
		}
		if c.urls.inverse < smallest.urls.inverse {
			smallest = c
		}
	}
	*smallest = facetCount{key: key}
	return smallest
}

// distinct estimates how many different values were added, within about 5 %: a HyperLogLog (Flajolet et al., 2007),
// with its correction for small counts.
type distinct struct {
	rank    [registers]uint8
	used    uint16  // registers that aren't 0
	inverse float64 // what the sum of 2^-rank is short of registers; it grows with the estimate
}

const (
	registers    = 1 << registerBits
	registerBits = 9
)

func (d *distinct) add(hash uint64) {
	at := &d.rank[hash>>(64-registerBits)]
	r := uint8(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1)) + 1)
	if r <= *at {
		return
	}
	if *at == 0 {
		d.used++
	}
	d.inverse += math.Ldexp(1, -int(*at)) - math.Ldexp(1, -int(r))
	*at = r
}

func (d *distinct) estimate() float64 {
	const m = registers
	if e := 0.7213 / (1 + 1.079/m) * m * m / (m - d.inverse); e > 2.5*m || d.used == m {
		return e
	}
	return m * math.Log(m/float64(m-int(d.used)))
}
