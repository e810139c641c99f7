package audit

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// grouping is the captured URLs brought together by a form.
type grouping struct {
	x    *index
	form []uint64 // hash of each URL's form
	ids  []uint32 // the URLs that count, by form, then shortest, then lexical
}

// group brings together the captured URLs by a form. Of the URLs that are one
// by the base form, only the first counts.
func (x *index) group(f *Form) *grouping {
	g := &grouping{x: x, form: x.forms(f)}
	if f.base != nil {
		g.ids = slices.Clone(x.firstsOf(f.base))
	} else {
		g.ids = make([]uint32, 0, len(g.form))
		for id := range g.form {
			if x.first[id] < x.first[id+1] {
				g.ids = append(g.ids, uint32(id))
			}
		}
	}
	slices.SortFunc(g.ids, func(a, b uint32) int {
		if c := cmp.Compare(g.form[a], g.form[b]); c != 0 {
			return c
		}
		return x.compareURLs(a, b)
	})
	return g
}

func (x *index) compareURLs(a, b uint32) int {
	u, v := x.urls.at(a), x.urls.at(b)
	return cmp.Or(cmp.Compare(len(u), len(v)), bytes.Compare(u, v))
}

// forms hashes the form of every URL. One that has none is alone.
func (x *index) forms(f *Form) []uint64 {
	forms := make([]uint64, x.urls.len())
	var buf []byte
	for id := range forms {
		url := x.urls.at(uint32(id))
		var err error
		if buf, err = f.append(buf[:0], url); err != nil {
			buf = binary.LittleEndian.AppendUint32(append(buf[:0], "no form "...), uint32(id))
		}
		forms[id] = maphash.Bytes(x.seed, buf)
	}
	return forms
}

// each calls yield with every group of two or more URLs, the first in front.
func (g *grouping) each(yield func(urls []uint32)) {
	for from := 0; from < len(g.ids); {
		to := from + 1
		for to < len(g.ids) && g.form[g.ids[to]] == g.form[g.ids[from]] {
			to++
		}
		if to-from > 1 {
			yield(g.ids[from:to])
		}
		from = to
	}
}

// firsts returns the first URL of each group.
func (g *grouping) firsts() []uint32 {
	firsts := g.ids[:0:0]
	for i, id := range g.ids {
		if i == 0 || g.form[id] != g.form[g.ids[i-1]] {
			firsts = append(firsts, id)
		}
	}
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
