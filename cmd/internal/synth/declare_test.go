package synth

import "testing"

// TestDeclaringWebs checks the promises of the webs: 60 % of the pages with duplicates declare,
// 5 % of the hosts lie, and each URL leads to one page.
func TestDeclaringWebs(t *testing.T) {
	for _, lie := range Lies {
		for seed := range uint64(2) {
			checkDeclaring(t, NewDeclaring(DeclareOptions{Seed: seed + 1, Lie: lie, Hosts: 20}), lie, seed)
		}
	}
}

func checkDeclaring(t *testing.T, d *Declaring, lie Lie, seed uint64) {
	t.Helper()
	liars, urls := 0, map[string]uint64{}
	for rank := range d.opt.Hosts {
		if d.host(rank).lies {
			liars++
		}
	}
	if want := d.opt.Hosts / 20; lie != Honest && liars != want || lie == Honest && liars != 0 {
		t.Errorf("%s, seed %d: got %d lying hosts; want %d", lie, seed, liars, want)
	}
	spellings := map[uint64]int{}
	d.Each(func(u Declared) {
		if page, ok := urls[u.URL]; ok && page != u.Page {
			t.Fatalf("%s shows two pages", u.URL)
		}
		urls[u.URL] = u.Page
		spellings[u.Page]++
	})
	declaring := map[uint64]bool{}
	d.Fetches(1, func(f DeclaredFetch) {
		if f.HeldOut || urls[f.URL] != f.Page {
			t.Fatalf("got a fetch of %s, which is held out or not of the web", f.URL)
		}
		if spellings[f.Page] > 1 {
			declaring[f.Page] = declaring[f.Page] || f.Canonical != ""
		}
	})
	share := 0.0
	for _, declares := range declaring {
		if declares {
			share++
		}
	}
	if share /= float64(len(declaring)); share < 0.59 || share > 0.65 {
		t.Errorf("%s, seed %d: %.3f of the clusters declare; want 0.60, and all of those of liars", lie, seed, share)
	}
}
