package audit

import (
	"cmp"
	"slices"
)

// repeats are the URLs whose content another URL had before: what a perfect
// set of rules would have saved.
type repeats struct {
	contents []capture // by digest, then time; each content of a URL once in a row
	count    int
	found    []bool // scratch space
}

func (x *index) repeats() *repeats {
	r := &repeats{found: make([]bool, x.urls.len())}
	for i, c := range x.captures {
		if c.usable() && (i == 0 || x.captures[i-1].url != c.url || x.captures[i-1].digest != c.digest) {
			r.contents = append(r.contents, c)
		}
	}
	slices.SortFunc(r.contents, func(a, b capture) int {
		return cmp.Or(cmp.Compare(a.digest, b.digest), cmp.Compare(a.time, b.time), cmp.Compare(a.url, b.url))
	})
	r.count = r.countWith(func([]capture, int) bool { return true })
	return r
}

// explainedBy counts the repeats whose content an earlier URL of their own
// group had.
func (r *repeats) explainedBy(g *grouping) int {
	return r.countWith(func(same []capture, i int) bool {
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
func (r *repeats) countWith(ok func(same []capture, i int) bool) int {
	const most = 1000
	clear(r.found)
	n := 0
	for from := 0; from < len(r.contents); {
		to := from + 1
		for to < len(r.contents) && r.contents[to].digest == r.contents[from].digest {
			to++
		}
		same := r.contents[from:min(to, from+most)]
		for i := 1; i < len(same); i++ {
			if same[i].url != same[0].url && !r.found[same[i].url] && ok(same, i) {
				r.found[same[i].url] = true
				n++
			}
		}
		from = to
	}
	return n
}
