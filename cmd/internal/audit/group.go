package audit

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"sync"
)

// grouping is the captured URLs brought together by a form.
type grouping struct {
	x       *index
	form    []uint64 // hash of each URL's form
	singles []uint32 // URLs that count and whose form no other one has
	ids     []uint32 // the others, by form, then shortest, then lexical
}

// group brings together the captured URLs by a form. Of the URLs that are one
// by the base form, only the first counts.
func (x *index) group(f *Form) *grouping {
	var ids []uint32
	if f.base != nil {
		ids = x.firstsOf(f.base)
	} else {
		ids = x.captured()
	}
	g := &grouping{x: x, form: x.forms(f)}
	g.divide(ids)
	slices.SortFunc(g.ids, func(a, b uint32) int {
		if c := cmp.Compare(g.form[a], g.form[b]); c != 0 {
			return c
		}
		return x.urls.compare(a, b)
	})
	return g
}

// captured lists the URLs that were captured; others are only the targets of
// redirects.
func (x *index) captured() []uint32 {
	ids := make([]uint32, 0, x.urls.len())
	for id := range uint32(x.urls.len()) {
		if x.first[id] < x.first[id+1] {
			ids = append(ids, id)
		}
	}
	return ids
}

// divide separates the URLs that are surely alone from those to be sorted, so that
// few are: most forms have one URL. Two bits are kept for each of many slots,
// "once" and "more than once"; sharing a slot by chance costs only time.
func (g *grouping) divide(ids []uint32) {
	slots := uint64(1) << max(6, bits.Len(uint(len(ids)))+2)
	once, more := make([]uint64, slots/64), make([]uint64, slots/64)
	for _, id := range ids {
		slot := g.form[id] & (slots - 1)
		more[slot/64] |= once[slot/64] & (1 << (slot % 64))
		once[slot/64] |= 1 << (slot % 64)
	}
	for _, id := range ids {
		if slot := g.form[id] & (slots - 1); more[slot/64]>>(slot%64)&1 == 0 {
			g.singles = append(g.singles, id)
		} else {
			g.ids = append(g.ids, id)
		}
	}
}

func (x *index) compareURLs(a, b uint32) int { return x.urls.compare(a, b) }

// forms hashes the form of every URL. One that has none is alone.
func (x *index) forms(f *Form) []uint64 {
	forms := make([]uint64, x.urls.len())
	x.eachURL(func() func(id uint32) {
		var buf []byte
		return func(id uint32) {
			var err error
			if buf, err = f.of(x, buf[:0], id); err != nil {
				buf = binary.LittleEndian.AppendUint32(append(buf[:0], "no form "...), id)
			}
			forms[id] = maphash.Bytes(x.seed, buf)
		}
	})
	return forms
}

// eachURL calls what start returns for every URL, on all processors: start
// once on each.
func (x *index) eachURL(start func() func(id uint32)) {
	n, parts := x.urls.len(), runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			do := start()
			for id := n * part / parts; id < n*(part+1)/parts; id++ {
				do(uint32(id))
			}
		})
	}
	wg.Wait()
}

// each calls yield with every group of two or more URLs, the first in front, in the order in
// which the log has these: which pair is the first to show a content must not depend on a hash.
func (g *grouping) each(yield func(urls []uint32)) {
	var groups [][]uint32
	g.eachGroup(func(urls []uint32) {
		if len(urls) > 1 {
			groups = append(groups, urls)
		}
	})
	slices.SortFunc(groups, func(a, b []uint32) int { return cmp.Compare(a[0], b[0]) })
	for _, urls := range groups {
		yield(urls)
	}
}

// eachGroup calls yield with the groups of the URLs that were sorted.
func (g *grouping) eachGroup(yield func(urls []uint32)) {
	for from := 0; from < len(g.ids); {
		to := from + 1
		for to < len(g.ids) && g.form[g.ids[to]] == g.form[g.ids[from]] {
			to++
		}
		yield(g.ids[from:to])
		from = to
	}
}

// firsts returns the first URL of each group, in no order.
func (g *grouping) firsts() []uint32 {
	groups := 0
	g.eachGroup(func([]uint32) { groups++ })
	firsts := append(make([]uint32, 0, len(g.singles)+groups), g.singles...)
	g.eachGroup(func(urls []uint32) { firsts = append(firsts, urls[0]) })
	return firsts
}

// firstsOf is what group(f).firsts() returns, worked out once.
func (x *index) firstsOf(f *Form) []uint32 {
	if x.firsts == nil {
		x.firsts = map[*Form][]uint32{}
	}
	firsts, ok := x.firsts[f]
	if !ok {
		firsts = x.group(f).firsts()
		x.firsts[f] = firsts
	}
	return firsts
}

// merges is how many URLs the form saves.
func (g *grouping) merges() (n int) {
	g.each(func(urls []uint32) { n += len(urls) - 1 })
	return n
}

func (g *grouping) sameForm(u, v uint32) bool { return g.form[u] == g.form[v] }
