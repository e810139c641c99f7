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
	found bitSet // scratch space
}

type contentURL struct{ digest, time, url uint32 }

func (x *index) repeats() *repeats {
	several := x.severalURLs()
	n := 0
	x.eachContent(several, func(contentURL) { n++ })
	r := &repeats{pairs: make([]contentURL, 0, n), found: newBitSet(x.urls.len())}
	x.eachContent(several, func(c contentURL) { r.pairs = append(r.pairs, c) })
	slices.SortFunc(r.pairs, func(a, b contentURL) int {
		return cmp.Or(cmp.Compare(a.digest, b.digest), cmp.Compare(a.time, b.time), cmp.Compare(a.url, b.url))
	})
	r.count = r.countWith(func([]contentURL, int) bool { return true })
	return r
}

// severalURLs are the digests that more than one URL had. Only their captures can be
// repeats, which spares most of the list.
func (x *index) severalURLs() bitSet {
	one := make([]uint32, x.digests.len()+1) // a URL that had the digest, plus one
	several := newBitSet(len(one))
	for url := range uint32(x.urls.len()) {
		for _, c := range x.of(url) {
			switch {
			case !c.usable():
			case one[c.digest] == 0:
				one[c.digest] = url + 1
			case one[c.digest] != url+1:
				several.add(c.digest)
			}
		}
	}
	return several
}

// eachContent calls yield with the contents of every URL, but those that no other had.
func (x *index) eachContent(several bitSet, yield func(contentURL)) {
	for url := range uint32(x.urls.len()) {
		last := uint32(0)
		for _, c := range x.of(url) {
			if c.usable() && c.digest != last && several.has(c.digest) {
				yield(contentURL{c.digest, c.time, url})
			}
			last = c.digest
		}
	}
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
	clear(r.found)
	n := 0
	for from := 0; from < len(r.pairs); {
		to := from + 1
		for to < len(r.pairs) && r.pairs[to].digest == r.pairs[from].digest {
			to++
		}
		same := r.pairs[from:min(to, from+most)]
		for i := 1; i < len(same); i++ {
			if same[i].url != same[0].url && !r.found.has(same[i].url) && ok(same, i) {
				r.found.add(same[i].url)
				n++
			}
		}
		from = to
	}
	return n
}
