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
	form    []uint64 // hash of each URL's form
	singles []uint32 // URLs that count and whose form no other one has
	// groups are the others, in each the shortest and lexically first in front. They stand in the order in which the log has
	// these: which pair is the first to show a content must not depend on a hash.
	groups [][]uint32
}

// group brings together the captured URLs by a form. Of the URLs that are one
// by the base form, only the first counts.
func (x *index) group(f *Form) *grouping {
	ids := x.captured()
	if f.base != nil {
		ids = x.firstsOf(f.base)
	}
	g := &grouping{form: x.forms(f)}
	shared := g.divide(ids)
	slices.SortFunc(shared, func(a, b uint32) int { return cmp.Or(cmp.Compare(g.form[a], g.form[b]), x.compareURLs(a, b)) })
	for len(shared) > 0 {
		n := 1
		for n < len(shared) && g.sameForm(shared[n], shared[0]) {
			n++
		}
		if n == 1 {
			g.singles = append(g.singles, shared[0])
		} else {
			g.groups = append(g.groups, shared[:n])
		}
		shared = shared[n:]
	}
	slices.SortFunc(g.groups, func(a, b []uint32) int { return cmp.Compare(a[0], b[0]) })
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

// divide separates the URLs that are surely alone from those to be sorted, which it returns, so that
// these are few: most forms have one URL. Two bits are kept for each of many slots,
// "once" and "more than once"; sharing a slot by chance costs only time.
func (g *grouping) divide(ids []uint32) (shared []uint32) {
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
			shared = append(shared, id)
		}
	}
	return shared
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

// firstsOf returns the first URL of each group by a form, in no order. It is worked out once.
func (x *index) firstsOf(f *Form) []uint32 {
	firsts, known := x.firsts[f]
	if !known {
		g := x.group(f)
		firsts = g.singles
		for _, urls := range g.groups {
			firsts = append(firsts, urls[0])
		}
		x.firsts[f] = firsts
	}
	return firsts
}

// merges is how many URLs the form saves.
func (g *grouping) merges() (n int) {
	for _, urls := range g.groups {
		n += len(urls) - 1
	}
	return n
}

func (g *grouping) sameForm(u, v uint32) bool { return g.form[u] == g.form[v] }
