package evidence

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/synth"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/declared"
	"github.com/firstseen/firstseen/store/memstore"
)

// crawled is a crawl of a TrapWeb in the order of a frontier.
type crawled struct {
	fetches int
	real    map[string]int // real pages, and when each was fetched first
	inTrap  int
}

// crawl fetches up to n URLs with the default fixed limits, and with a table, if it is not nil.
func crawl(t *testing.T, w *synth.TrapWeb, n int, table *Evidence) crawled {
	t.Helper()
	is := crawled{real: map[string]int{}}
	opt := frontier.Options{Delay: -1, MaxInFlight: -1}
	if table != nil {
		opt.Lower = table.Lower
		opt.OnFetched = func(f frontier.Fetched) { table.Offer(&f) }
	}
	is.crawl(t, w, n, opt)
	return is
}

// crawlByOracle is crawl with an oracle that knows every URL of the trap, and lowers it from a number
// of fetches in the trap on. It moves nothing queued.
func crawlByOracle(t *testing.T, w *synth.TrapWeb, n, from int) crawled {
	t.Helper()
	is := crawled{real: map[string]int{}}
	is.crawl(t, w, n, frontier.Options{Delay: -1, MaxInFlight: -1,
		Lower: func(url string, queued bool) bool { return !queued && is.inTrap >= from && w.Page(url, 0).InTrap }})
	return is
}

// crawlByTold is crawl with an oracle that knows every URL of the trap, and lowers those whose template,
// or a group of it, ever brought known content, queued ones as well. No rule that needs one
// known content of a template can do better.
func crawlByTold(t *testing.T, w *synth.TrapWeb, n int) crawled {
	t.Helper()
	is, table, told := crawled{real: map[string]int{}}, New(Options{Traps: LowerTraps}), map[string]bool{}
	template := func(url string) []byte { return AppendShape(nil, []byte(url), canon.Host([]byte(url))) }
	lower := func(url string, _ bool) bool {
		if !w.Page(url, 0).InTrap {
			return false
		}
		for group := range table.groups(template(url)) {
			if told[string(group)] {
				return true
			}
		}
		return false
	}
	is.crawl(t, w, n, frontier.Options{Delay: -1, MaxInFlight: -1, Lower: lower, OnFetched: func(f frontier.Fetched) {
		table.Offer(&f)
		for group := range table.groups(template(f.URL)) {
			if t, _ := table.find(group); t != nil && t.Known > 0 {
				told[string(group)] = true
			}
		}
	}})
	return is
}

func (is *crawled) crawl(t *testing.T, w *synth.TrapWeb, n int, opt frontier.Options) {
	t.Helper()
	ctx := context.Background()
	f, err := frontier.New(memstore.New(memstore.Options{}), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	add := func(urls []string) {
		links := make([]frontier.Link, len(urls))
		for i, url := range urls {
			links[i].URL = url
		}
		if _, err := f.AddBatch(ctx, links); err != nil {
			t.Fatal(err)
		}
	}
	add(append(w.Seeds(), w.Archives()...))
	for is.fetches < n {
		leases, next, err := f.Lease(ctx, frontier.LeaseRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if len(leases) == 0 {
			if next.Next.IsZero() {
				break
			}
			time.Sleep(time.Until(next.Next))
			continue
		}
		is.fetch(w.Page(leases[0].URL, is.fetches), leases[0], f, t, add)
	}
}

func (is *crawled) fetch(p synth.TrapPage, l *frontier.Lease, f *frontier.Frontier, t *testing.T, add func([]string)) {
	t.Helper()
	if p.InTrap {
		is.inTrap++
	} else if _, ok := is.real[p.Real]; !ok {
		is.real[p.Real] = is.fetches
	}
	is.fetches++
	got := &frontier.Fetched{Status: 200, Canonical: p.Canonical, Digest: p.Digest, Masked: p.Digest}
	if p.Text != "" {
		html := p.HTML()
		got.Digest, got.Masked = declared.Digest("text/html", html), declared.Masked(l.URL, "text/html", html)
	}
	done := frontier.Settlement{Lease: l, Fetched: got}
	if _, err := f.Settle(context.Background(), []frontier.Settlement{done}); err != nil {
		t.Fatal(err)
	}
	add(p.Links)
}

// TestShareOfTraps prints, for each kind of web, the share of fetches in the trap without and with the
// table, at as many fetches as the honest part and the archive of the hosts have pages. The archive,
// which its pages lead to one by one, is crawled beside each trap. No real page may be lost
// by the table, and on honest webs none may come later than by a tenth of all fetches, nor a template be lowered. The days with events are
// one in seven of their template, so that they come after the rest of their host: but with a quarter more fetches, all are there.
func TestShareOfTraps(t *testing.T) {
	most := map[synth.Trap]int{synth.TrapFacets: 3, synth.TrapCalendar: 4, synth.TrapSessions: 1} // per cent
	for _, kind := range synth.TrapKinds {
		for _, seed := range webSeeds(t) {
			w := synth.NewTrapWeb(synth.TrapOptions{Seed: seed, Kind: kind, Hosts: 2})
			table, pages := New(Options{Traps: LowerTraps}), w.Pages()
			without, with := crawl(t, w, pages, nil), crawl(t, w, pages, table)
			name := fmt.Sprintf("%s, seed %d", kind, seed)
			t.Logf("%s: %d fetches, %.1f %% and %.1f %% of them in the trap, %d and %d real pages, %d templates lowered", name, with.fetches,
				100*float64(without.inTrap)/float64(pages), 100*float64(with.inTrap)/float64(pages), len(without.real), len(with.real), table.lowered.Load())
			if os.Getenv("FIRSTSEEN_TORTURE_N") != "" {
				t.Logf("%s: an oracle that lowers what evidence was seen of: %.1f %%", name, 100*float64(crawlByTold(t, w, pages).inTrap)/float64(pages))
				for _, from := range []int{1, 20} {
					t.Logf("%s: an oracle that lowers the trap from %d fetches in it on: %.1f %%", name, from, 100*float64(crawlByOracle(t, w, pages, from).inTrap)/float64(pages))
				}
			}
			found := both(with.real, without.real)
			if kind == synth.TrapCalendar {
				if len(with.real) < len(without.real) {
					t.Errorf("%s: got %d real pages; want at least the %d without the table", name, len(with.real), len(without.real))
				}
				found = both(crawl(t, w, pages*5/4, New(Options{Traps: LowerTraps})).real, without.real)
			}
			if with.fetches != without.fetches || with.inTrap > without.inTrap || 100*found < 99*len(without.real) || kind == synth.TrapCalendar && found < len(without.real) {
				t.Errorf("%s: got %d fetches, %d in the trap, %d of the real pages without it; want %d, at most %d, at least 99 %% of %d", name,
					with.fetches, with.inTrap, found, without.fetches, without.inTrap, len(without.real))
			}
			if with.inTrap*100 > most[kind]*with.fetches {
				t.Errorf("%s: got %d of %d fetches in the trap; want %d %%", name, with.inTrap, with.fetches, most[kind])
			}
			if !w.Honest() {
				continue
			}
			if page, late := latest(without.real, with.real); late*10 > with.fetches || len(table.List()) > 0 {
				t.Errorf("%s: %s is fetched %d of %d fetches later, and %v are lowered", name, page, late, with.fetches, table.List())
			}
		}
	}
}

// webSeeds returns the seeds of the webs: one of those that the limits were chosen with (1 to 5), and one
// held out (from 101 on). FIRSTSEEN_TORTURE_N=5 makes it five of each, and FIRSTSEEN_TORTURE_SEED replaces the held-out.
// A short run has the held-out one alone.
func webSeeds(t *testing.T) (seeds []uint64) {
	t.Helper()
	n, heldOut := 1, uint64(101)
	for name, value := range map[string]any{"FIRSTSEEN_TORTURE_N": &n, "FIRSTSEEN_TORTURE_SEED": &heldOut} {
		if text := os.Getenv(name); text != "" {
			if _, err := fmt.Sscan(text, value); err != nil {
				t.Fatalf("%s=%s: %v", name, text, err)
			}
		}
	}
	for i := range uint64(n) {
		seeds = append(seeds, 1+i, heldOut+i)
	}
	slices.Sort(seeds)
	if testing.Short() {
		return seeds[len(seeds)-1:]
	}
	return seeds
}

// TestCopiesOfCombinations: no page of a shop and a forum is late while 5, 10 or 15 % of the pages with
// several parameters are copies, also if the listings have 8 sets of them. With FIRSTSEEN_TORTURE_N it prints more shares, of which some are late.
func TestCopiesOfCombinations(t *testing.T) {
	shares := [][2]int{{5, 1}, {10, 1}, {15, 1}, {15, 8}} // and how many sets
	if os.Getenv("FIRSTSEEN_TORTURE_N") != "" {
		shares = append(shares, [][2]int{{5, 8}, {10, 8}, {20, 1}, {25, 1}, {30, 1}}...)
	}
	for _, share := range shares {
		copies := share[0]
		for _, seed := range webSeeds(t) {
			w := synth.NewTrapWeb(synth.TrapOptions{Seed: seed, Kind: synth.HonestParams, Hosts: 2, Copies: copies, Sets: share[1]})
			without, with := crawl(t, w, w.Pages(), nil), crawl(t, w, w.Pages(), New(Options{Traps: LowerTraps}))
			page, late := latest(without.real, with.real)
			t.Logf("%d %% copies, seed %d: no page is more than %.1f %% of the fetches later", copies, seed, 100*float64(late)/float64(with.fetches))
			if both(with.real, without.real) != w.Pages() || late*10 > with.fetches && copies <= 15 {
				t.Errorf("%d %% copies, seed %d: got %d of %d pages, %s %d fetches later", copies, seed, both(with.real, without.real), w.Pages(), page, late)
			}
		}
	}
}

// latest returns the page that is fetched the most fetches later, and how many.
func latest(without, with map[string]int) (page string, late int) {
	for p, at := range without {
		if with[p]-at > late {
			page, late = p, with[p]-at
		}
	}
	return page, late
}

// both returns how many keys two maps have in common.
func both(a, b map[string]int) (n int) {
	for key := range a {
		if _, ok := b[key]; ok {
			n++
		}
	}
	return n
}
