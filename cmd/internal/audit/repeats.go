package audit

import (
	"cmp"
	"slices"
)

// repeats are the URLs whose content another URL had before: what a perfect
// set of rules would have saved.
type repeats struct {
	pairs []contentURL // by digest, then time; URLs once each
	count int
}

type contentURL struct{ digest, time, url uint32 }

func (x *index) repeats() *repeats {
	r := &repeats{}
	for i, c := range x.captures {
		if !c.usable() || i > 0 && x.captures[i-1].url == c.url && x.captures[i-1].digest == c.digest {
			continue
		}
		r.pairs = append(r.pairs, contentURL{c.digest, c.time, c.url})
	}
	slices.SortFunc(r.pairs, func(a, b contentURL) int {
		return cmp.Or(cmp.Compare(a.digest, b.digest), cmp.Compare(a.time, b.time), cmp.Compare(a.url, b.url))
	})
	r.count = r.countWith(func([]contentURL, int) bool { return true })
	return r
}

// explainedBy counts the repeats whose content an earlier URL of their own
// group had.
func (r *repeats) explainedBy(g *grouping) int {
	return r.countWith(func(same []contentURL, i int) bool {
		for _, earlier := range same[:i] {
			if g.sameForm(earlier.url, same[i].url) {
				return true
			}
		}
		return false
	})
}

// countWith counts the URLs that ok accepts in at least one of the contents
// they repeat. Contents of very many URLs count by their first ones only.
func (r *repeats) countWith(ok func(same []contentURL, i int) bool) int {
	const most = 1000
	found := map[uint32]bool{}
	for from := 0; from < len(r.pairs); {
		to := from + 1
		for to < len(r.pairs) && r.pairs[to].digest == r.pairs[from].digest {
			to++
		}
		same := r.pairs[from:min(to, from+most)]
		for i := 1; i < len(same); i++ {
			if same[i].url != same[0].url && !found[same[i].url] && ok(same, i) {
				found[same[i].url] = true
			}
		}
		from = to
	}
	return len(found)
}
