package synth

import "testing"

// TestTrapWebs: a crawl in order of the links meets every real page of honest webs, and
// spends most of its fetches in the trap of the others.
func TestTrapWebs(t *testing.T) {
	for _, kind := range TrapKinds {
		w := NewTrapWeb(TrapOptions{Seed: 1, Kind: kind, Hosts: 2})
		queue, seen := w.Seeds(), map[string]bool{}
		pages, inTrap, fetches := map[string]bool{}, 0, 0
		for len(queue) > 0 && fetches < 8000 {
			url := queue[0]
			queue = queue[1:]
			if seen[url] {
				continue
			}
			seen[url] = true
			p := w.Page(url, fetches)
			if fetches++; p.Digest == "" || p.InTrap == (p.Real != "") {
				t.Fatalf("%s: %s: got %+v; want a page, in the trap or real", kind, url, p)
			}
			if p.InTrap {
				inTrap++
			}
			pages[p.Real] = true
			queue = append(queue, p.Links...)
		}
		t.Logf("%s: %d fetches, %d in the trap, %d pages", kind, fetches, inTrap, len(pages))
		honest := w.Honest()
		if honest && (inTrap > 0 || fetches != w.Pages() || len(pages) != w.Pages()) {
			t.Errorf("%s: got %d fetches in the trap, %d pages", kind, inTrap, len(pages))
		}
		if !honest && inTrap < fetches/3 {
			t.Errorf("%s: got %d of %d fetches in the trap; want a third", kind, inTrap, fetches)
		}
	}
}
