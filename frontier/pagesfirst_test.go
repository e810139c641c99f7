package frontier

import (
	"fmt"
	"strings"
	"testing"
)

// shop is a tree of pages, each of which links to the list, and a list with filters, in which each
// combination links to those that differ in one value, and to some pages.
type shop struct{ pages, colours, sizes, orders, brands int }

func (s shop) links(url string) (links []string) {
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

// threads is a mailing list: each message links to its thread in three forms, whose pages lead to messages that are known.
func threads(url string) (links []string) {
	const base, messages = "http://list.example/", 300
	var n int
	if _, err := fmt.Sscanf(url, base+"m%d/", &n); err != nil || strings.Count(url, "/") > 4 {
		return []string{base + "m0/"}
	}
	for _, form := range []string{"t/", "flat/", "raw/"} {
		links = append(links, url+form)
	}
	for k := 2*n + 1; k < min(2*n+3, messages); k++ {
		links = append(links, fmt.Sprintf("%sm%d/", base, k))
	}
	return links
}

// calendar has a list of events, which links to ten new ones, and days, each of which leads to more days.
func calendar(url string) (links []string) {
	const base = "http://cal.example/"
	var n int
	if _, err := fmt.Sscanf(url, base+"event/%d", &n); err == nil && n < 300 {
		return []string{fmt.Sprintf("%sevent/%d", base, n+1), fmt.Sprintf("%sday/%d", base, n)}
	}
	if _, err := fmt.Sscanf(url, base+"day/%d", &n); err != nil || n > 4000 {
		return []string{base + "event/0", base + "day/0"}
	}
	for k := range 5 {
		links = append(links, fmt.Sprintf("%sday/%d", base, n+1+k*7))
	}
	return links
}

// TestPagesFirst crawls sites to their ends: with PagesFirst the pages come first, and nothing is lost.
func TestPagesFirst(t *testing.T) {
	s := shop{pages: 300, colours: 8, sizes: 5, orders: 4, brands: 8}
	for _, c := range []struct {
		seed   string
		links  func(string) []string
		isPage func(string) bool
		most   int // fetches until 270 of 300 pages
	}{
		{"http://shop.example/page/0", s.links, func(u string) bool { return !strings.Contains(u, "?") }, 300},
		{"http://list.example/m0/", threads, func(u string) bool { return strings.Count(u, "/") == 4 }, 400},
		{"http://cal.example/event/0", calendar, func(u string) bool { return strings.Contains(u, "/event/") }, 400},
	} {
		until := func(with bool) (fetches, all int) {
			var first PagesFirst
			opt := Options{Delay: -1, MaxInFlight: -1, Traps: Traps{PathDepth: 8}}
			if with {
				opt.Rank = first.Rank
			}
			f := open(t, opt)
			addOne(t, f, Link{URL: c.seed})
			pages := 0
			for lease, err := range f.Leases(bg) {
				if err != nil {
					t.Fatal(err)
				}
				all++
				if c.isPage(lease.URL) {
					if pages++; pages == 270 {
						fetches = all
					}
				}
				first.Fetched(lease.URL, addAll(t, f, Links(lease, c.links(lease.URL)...)...))
				must(t, f.Done(bg, lease))
			}
			return fetches, all
		}
		without, all := until(false)
		with, n := until(true)
		t.Logf("%s: nine tenths of the pages after %d fetches, and after %d without", c.seed, with, without)
		if with > c.most || with > without*3/4 || n != all {
			t.Errorf("%s: got %d fetches until nine tenths of the pages, %d without; want at most %d. Got %d fetches in all; want %d", c.seed, with, without, c.most, n, all)
		}
	}
}

// TestPagesFirstMemory: what is fetched does not make it grow without end.
func TestPagesFirstMemory(t *testing.T) {
	var first PagesFirst
	for i := range maxPageKinds {
		host := fmt.Sprintf("http://h%d.example/", i)
		first.Fetched(host+"a/b/c", []Result{{Status: StatusNew, Canonical: host}})
	}
	if len(first.kinds) != maxPageKinds {
		t.Errorf("got %d kinds; want %d", len(first.kinds), maxPageKinds)
	}
	if got := first.Rank("http://new.example/a?b=1&c=2"); got != 2 {
		t.Errorf("got rank %d; want 2, by the parameters", got)
	}
}

// TestPagesFirstOfFew: a kind is judged from enoughPages fetches on, also at the top of a site, where it is one with that of the directories beside.
func TestPagesFirstOfFew(t *testing.T) {
	var first PagesFirst
	for i := range 2 {
		first.Fetched(fmt.Sprintf("http://a.example/p%d", i), nil)
	}
	if got := first.Rank("http://a.example/p9"); got != 0 {
		t.Errorf("got rank %d after two fetches of the kind; want 0 before %d", got, enoughPages)
	}
}
