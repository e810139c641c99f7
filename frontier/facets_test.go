package frontier

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 10, 50, 100, 200, 1000, 20_000} {
		var d distinct
		for i := range 3 * n { // each three times
			d.add(hashOf(fmt.Sprint("value ", i%max(n, 1))))
		}
		if got := d.estimate(); math.Abs(got-float64(n)) > 0.2*float64(n) {
			t.Errorf("got %.0f; want about %d", got, n)
		}
	}
}

// TestFacetsOfHonestSites: URLs whose parameters name pages keep their turn, however many there are, and whatever seed
// the estimates have.
func TestFacetsOfHonestSites(t *testing.T) {
	const seeds = 2
	for name, urls := range map[string]func(yield func(string)){
		"forum": func(yield func(string)) {
			for topic := range 8000 {
				for page := range 1 + topic%3 {
					yield(fmt.Sprintf("http://a.example/viewtopic.php?f=%d&start=%d&t=%d", topic%17, 25*page, topic))
				}
			}
		},
		"wiki": func(yield func(string)) {
			for page := range 3000 {
				for _, action := range []string{"edit", "history", "view"} {
					yield(fmt.Sprintf("http://a.example/index.php?action=%s&title=Page_%d", action, page))
				}
			}
		},
		"ids of two kinds": func(yield func(string)) {
			for i := range 8000 {
				yield(fmt.Sprintf("http://a.example/show?id=%d&lang=en&sid=%d", i, i*7919))
			}
		},
		"one parameter": func(yield func(string)) {
			for i := range 8000 {
				yield(fmt.Sprintf("http://a.example/item?id=%d", i))
			}
		},
		"lists of a shop with 3,000 pages": func(yield func(string)) {
			for i := range 3000 {
				yield(fmt.Sprintf("http://a.example/product/%d", i))
			}
			for i := range 300 {
				yield(fmt.Sprintf("http://a.example/list?category=%d&page=%d", i/10, i%10))
			}
		},
		"a few filters": func(yield func(string)) {
			for i := range 40 {
				yield(fmt.Sprintf("http://a.example/list?colour=%d&size=%d", i%8, i/8))
			}
		},
	} {
		for range seeds {
			var f Facets
			n, lowered := 0, 0
			urls(func(url string) {
				if n++; f.Lower(url, false) {
					lowered++
				}
			})
			if lowered > n/100 {
				t.Errorf("%s: %d of %d URLs were lowered; want none (an estimate may err)", name, lowered, n)
			}
		}
	}
}

// facetSite is a shop: a tree of pages, each of which links to the list, and a list with filters, in which each
// combination links to those that differ in one value, and to some pages.
type facetSite struct{ pages, colours, sizes, orders, brands int }

func (s facetSite) links(url string) (links []string) {
	const base = "http://shop.example"
	combination := func(c [4]int) string {
		return fmt.Sprintf("%s/list?brand=%d&colour=%d&order=%d&size=%d", base, c[3], c[0], c[2], c[1])
	}
	path := strings.TrimPrefix(url, base)
	var c [4]int
	if n, _ := fmt.Sscanf(path, "/list?brand=%d&colour=%d&order=%d&size=%d", &c[3], &c[0], &c[2], &c[1]); n == 4 {
		for i, values := range []int{s.colours, s.sizes, s.orders, s.brands} {
			other := c
			for other[i] = range values {
				links = append(links, combination(other))
			}
		}
		return append(links, fmt.Sprintf("%s/page/%d", base, (c[0]*31+c[3])%s.pages))
	}
	var n int
	_, _ = fmt.Sscanf(path, "/page/%d", &n)
	for k := 3*n + 1; k < min(3*n+4, s.pages); k++ {
		links = append(links, fmt.Sprintf("%s/page/%d", base, k))
	}
	return append(links, combination(c))
}

// TestFacetsComeLast crawls the shop to its end: with Facets the pages come first, and nothing is lost.
func TestFacetsComeLast(t *testing.T) {
	s := facetSite{pages: 300, colours: 8, sizes: 5, orders: 4, brands: 8}
	all := s.pages + s.colours*s.sizes*s.orders*s.brands
	until := func(opt Options) (fetches int) {
		opt.Delay, opt.MaxInFlight = -1, -1
		f := open(t, opt)
		addOne(t, f, Link{URL: "http://shop.example/page/0"})
		n, pages := 0, 0
		for lease, err := range f.Leases(bg) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if !strings.Contains(lease.URL, "?") {
				if pages++; pages == s.pages*9/10 {
					fetches = n
				}
			}
			addAll(t, f, Links(lease, s.links(lease.URL)...)...)
			if err := f.Done(bg, lease); err != nil {
				t.Fatal(err)
			}
		}
		if n != all {
			t.Errorf("got %d fetches; want each of %d URLs once", n, all)
		}
		return fetches
	}
	without, with := until(Options{}), until(Options{Lower: new(Facets).Lower})
	t.Logf("fetches until nine tenths of %d pages are read, with %d combinations: %d without, %d with", s.pages, all-s.pages, without, with)
	if with > 2*s.pages || with > without/2 {
		t.Errorf("got %d fetches until nine tenths of %d pages, and %d without; want at most two for each page", with, s.pages, without)
	}
}

// TestFacetsMemory: what is offered does not make the tables grow, and a large path keeps its counts.
func TestFacetsMemory(t *testing.T) {
	var f Facets
	combination := func(i int) string {
		return fmt.Sprintf("http://a.example/list?a=%d&b=%d&c=%d", i%10, i/10%10, i/100%10)
	}
	for i := range 1000 {
		f.Lower(combination(i), false)
		for k := range 30 {
			f.Lower(fmt.Sprintf("http://%d.example/%d?a=1&b=2", i, k), false)
		}
	}
	if len(f.paths) != facetSets || !f.Lower(combination(1), false) {
		t.Errorf("got %d sets, and lowered %v; want %d and the large path remembered", len(f.paths), f.Lower(combination(1), false), facetSets)
	}
	if f.Lower(combination(1), true) {
		t.Error("got a queued URL lowered; want it to keep its place")
	}
}

func hashOf(s string) uint64 {
	var h uint64 = 14695981039346656037 // FNV-1a, so that the estimates of the test do not change from run to run
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}
