package evidence

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestOffDecidesNothing: with everything on that a crawl does by itself, and the one switch off, each verdict and each lease is
// that of a crawl that has nothing of it: URLs as traps are made of, templates that bring one content only, and hosts that
// are trusted and declare.
func TestOffDecidesNothing(t *testing.T) {
	plain := frontier.Options{Delay: -1, MaxInFlight: -1, Traps: frontier.Traps{Off: true}, Logger: slog.New(slog.DiscardHandler)}
	want := decisions(t, 1, plain, nil)
	for _, off := range []bool{true, false} {
		opt := plain
		var f *frontier.Frontier
		learned := New(Options{Off: off, Traps: LowerTraps, Logger: plain.Logger, Profile: func() *canon.Profile { return f.Profile("*") },
			Use: func(p *canon.Profile) error { return f.SetProfile(p) }})
		opt.Traps, opt.NoHeuristics = frontier.Traps{URLLength: 100, PathDepth: 4, Repeats: 2, Queries: 10}, off
		opt.Lower, opt.OnFetched = learned.Lower, func(r frontier.Fetched) { learned.Offer(&r) }
		got := decisions(t, 1, opt, func(of *frontier.Frontier, step int) {
			f = of
			var err error
			if step == 0 {
				err = learned.SetRules(canon.Qiita(), canon.Qiita(), []byte(`{"trust_declared": ["*"]}`))
			} else {
				_, err = learned.adopt()
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if off && got != want {
			t.Errorf("got other decisions with everything off:\n%s", firstDifference(got, want))
		}
		if !off {
			for _, kind := range []string{"path-depth", "repeated-segments", "too-long", "query-growth"} {
				if !strings.Contains(got, kind) {
					t.Errorf("got no URL refused as %s; want this test to have some", kind)
				}
			}
			if s := learned.Stats(); s.URLs == 0 || s.Rules == 0 {
				t.Errorf("got %+v; want URLs lowered, and rules", s)
			}
		}
	}
}

// decisions offers and fetches random URLs, and returns a line for each verdict and lease.
func decisions(t *testing.T, seed uint64, opt frontier.Options, adopt func(f *frontier.Frontier, step int)) string {
	t.Helper()
	f, err := frontier.New(memstore.New(memstore.Options{}), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	draw := rand.New(rand.NewPCG(seed, 1))
	var out strings.Builder
	for step := range 60 {
		if adopt != nil {
			adopt(f, step)
		}
		var links []frontier.Link
		for range 10 {
			url := "http://a.example/"
			switch draw.IntN(5) {
			case 0:
				url += strings.Repeat("d/", draw.IntN(6)) + fmt.Sprint(draw.IntN(50))
			case 1:
				url += "a/b/c/" + fmt.Sprint(draw.IntN(50))
			case 2:
				url += strings.Repeat("x", 60+draw.IntN(60))
			default:
				url += fmt.Sprintf("list?page=%d&ref=%d", draw.IntN(60), draw.IntN(3))
			}
			links = append(links, frontier.Link{URL: url, Priority: uint8(draw.IntN(3))})
		}
		results, err := f.AddBatch(context.Background(), links)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			fmt.Fprintln(&out, "added", r.Canonical, r.Status, r.Reason)
		}
		leases, _, err := f.Lease(context.Background(), frontier.LeaseRequest{Max: 5})
		if err != nil {
			t.Fatal(err)
		}
		var done []frontier.Settlement
		for _, l := range leases {
			fmt.Fprintln(&out, "leased", l.URL, l.Priority)
			done = append(done, frontier.Settlement{Lease: l, Fetched: &frontier.Fetched{Status: 200, Digest: "same", NoVarySearch: `params=("ref")`}})
		}
		if _, err := f.Settle(context.Background(), done); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: got %s; want %s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines; want %d", len(a), len(b))
}
