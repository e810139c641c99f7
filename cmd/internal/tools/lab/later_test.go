package main

import (
	"flag"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

var (
	laterDir = flag.String("dir", "testdata", "directory of the lab, or testdata, for TestLater")
	laterApp = flag.String("app", "cgit", "application of a recording there")
)

// TestLater: an application for thirty weeks after its first crawl. In the last ten, a schedule by observed change notices more in time than one of
// equal intervals that fetches as much, at least if lists do not change with each new page. With -v it prints a table.
func TestLater(t *testing.T) {
	truthFile := filepath.Join(*laterDir, *laterApp, "truth.jsonl")
	if *laterDir == "testdata" {
		truthFile = filepath.Join(*laterDir, *laterApp+".truth.jsonl")
	}
	a := &apps[slices.IndexFunc(apps, func(a app) bool { return a.name == *laterApp })]
	objects, err := readTruth(a, truthFile)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := openRecording(filepath.Join(*laterDir, *laterApp+".recording"))
	if err != nil {
		t.Fatal(err)
	}
	first := &run{rec: rec}
	if err := (&ours{}).crawl(t.Context(), nil, first, a.seed(), 1500); err != nil {
		t.Fatal(err)
	}
	r := judge("first", rec, objects, first.log, 1500)
	equally := func(every time.Duration) (float64, float64) {
		return later(t, r, rec, frontier.Options{}, func(l *frontier.Lease, changed bool) frontier.Settlement {
			return frontier.Settlement{Lease: l, Outcome: frontier.Recrawl, At: time.Now().Add(every)}
		})
	}
	observed := func(soonest, latest time.Duration) (float64, float64) {
		return later(t, r, rec, frontier.Options{RecrawlSoonest: soonest, RecrawlLatest: latest}, func(l *frontier.Lease, changed bool) frontier.Settlement {
			status := http.StatusOK
			if !changed {
				status = http.StatusNotModified
			}
			return frontier.Settlement{Lease: l, Outcome: frontier.Recrawl, Fetched: &frontier.Fetched{Status: status}}
		})
	}
	t.Logf("%s: %d pages, %d of them objects", *laterApp, len(r.log), len(r.objects))
	t.Log("| schedule | fetches a week | noticed within a week |")
	fetches, share := map[time.Duration]float64{}, map[time.Duration]float64{}
	for _, days := range []time.Duration{7, 10, 14} {
		fetches[days], share[days] = equally(days * day)
		t.Logf("| every %d days | %.0f | %.0f %% |", days, fetches[days], 100*share[days])
	}
	listed := 7.0 // fetches of the list itself
	for _, changes := range newLiving(r, rec, rand.New(rand.NewPCG(1, 2))).changes {
		for _, at := range changes {
			if at >= from && at < until {
				listed += 0.1
			}
		}
	}
	t.Logf("| what a list of changes has, read daily | %.0f | 100 %% |", listed)
	for _, days := range []time.Duration{14, 28, 56} {
		n, in := observed(2*day, days*day)
		t.Logf("| by observed change, 2 to %d days | %.0f | %.0f %% |", days, n, 100*in)
		if days == 28 && *laterDir == "testdata" && (n > fetches[14] || in <= share[14]+0.1) {
			t.Errorf("got %.0f fetches a week, which notice %.0f %% within a week; want no more than every 14 days, which notice more: %.0f, %.0f %%", n, 100*in, fetches[14], 100*share[14])
		}
	}
}

const (
	day   = 24 * time.Hour
	week  = 7 * day
	weeks = 30
	from  = (weeks - 11) * week
	until = (weeks - 1) * week // what came later has no week left
)

// living is a site after its first crawl: some of its objects change, in each week 5 % of them and mostly the same, and 1 % are new. Other pages
// change as they get a link to a new one.
type living struct {
	start   time.Time
	pages   []string // in the order of the first crawl
	links   map[string][]string
	changes map[string][]time.Duration // when each page changed, since the start; of a new one, first when it came
	births  map[string]time.Duration
}

func newLiving(r *result, rec *recording, rng *rand.Rand) *living {
	w := &living{start: time.Now(), links: map[string][]string{}, changes: map[string][]time.Duration{}, births: map[string]time.Duration{}}
	for i, u := range r.log {
		if r.kinds[i] == redirect || r.kinds[i] == failed {
			continue
		}
		w.pages = append(w.pages, u)
		for _, l := range rec.links(u) {
			w.links[u] = append(w.links[u], l.url)
		}
		if r.kinds[i] != newObject && *laterDir != "testdata" { // which is so small that all of its pages have to change
			continue
		}
		if i > 0 && *laterDir != "testdata" && rng.Float64() < weeks*0.01 {
			w.births[u] = time.Duration(rng.Int64N(int64(weeks * week)))
			w.changes[u] = []time.Duration{w.births[u]}
		}
		share := 0.0125 // a fifth of the objects have four fifths of the changes
		if rng.IntN(5) == 0 {
			share = 0.20
		}
		for n := range weeks {
			if at := time.Duration(n)*week + time.Duration(rng.Int64N(int64(week))); rng.Float64() < share && at > w.births[u] {
				w.changes[u] = append(w.changes[u], at)
			}
		}
	}
	for _, u := range w.pages {
		for _, l := range w.links[u] {
			if at, ok := w.births[l]; ok {
				w.changes[u] = append(w.changes[u], at)
			}
		}
		slices.Sort(w.changes[u])
	}
	return w
}

// later fetches a site that lives for some weeks; settle is told whether a page has changed since its last fetch. The result is of the last ten
// weeks: fetches in a week, and the share of what changed or came that was noticed within a week.
func later(t *testing.T, r *result, rec *recording, opt frontier.Options, settle func(l *frontier.Lease, changed bool) frontier.Settlement) (fetches, noticed float64) {
	synctest.Test(t, func(t *testing.T) {
		w := newLiving(r, rec, rand.New(rand.NewPCG(1, 2)))
		fetches, noticed = w.crawl(t, opt, settle)
	})
	return fetches, noticed
}

func (w *living) crawl(t *testing.T, opt frontier.Options, settle func(l *frontier.Lease, changed bool) frontier.Settlement) (fetches, noticed float64) {
	opt.Delay, opt.MaxInFlight, opt.Logger, opt.Traps.Off = -1, -1, slog.New(slog.DiscardHandler), true
	s := memstore.New(memstore.Options{})
	defer s.Close()
	f, err := frontier.New(s, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Add(t.Context(), w.pages[0]); err != nil {
		t.Fatal(err)
	}
	isPage := map[string]bool{}
	for _, u := range w.pages {
		isPage[u] = true
	}
	seen := map[string]time.Duration{}
	of, inTime := 0, 0
	for time.Since(w.start) < weeks*week {
		leases, _, err := f.Lease(t.Context(), frontier.LeaseRequest{Max: 1000, MaxPerQueue: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(leases) == 0 {
			time.Sleep(6 * time.Hour)
			continue
		}
		now := time.Since(w.start)
		settlements := make([]frontier.Settlement, len(leases))
		for i, l := range leases {
			last, again := seen[l.URL]
			seen[l.URL] = now
			changed := false
			for _, at := range w.changes[l.URL] {
				if at <= now && (!again || at > last) {
					changed = true
					if at >= from && at < until && now-at <= week {
						inTime++
					}
				}
			}
			if now >= from && now < until {
				fetches++
			}
			var links []string
			for _, to := range w.links[l.URL] {
				if at := w.births[to]; isPage[to] && at <= now && (!again || at > last) { // the others were offered
					links = append(links, to)
				}
			}
			if _, err := f.AddBatch(t.Context(), frontier.Links(l, links...)); err != nil {
				t.Fatal(err)
			}
			settlements[i] = settle(l, changed)
		}
		if _, err := f.Settle(t.Context(), settlements); err != nil {
			t.Fatal(err)
		}
	}
	for _, changes := range w.changes {
		for _, at := range changes {
			if at >= from && at < until {
				of++
			}
		}
	}
	return fetches / 10, float64(inTime) / float64(of)
}
