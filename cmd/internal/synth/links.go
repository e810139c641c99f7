package synth

import "math"

// Links calls yield with each link found on the k-th page, in order. The
// spelling is valid until yield returns.
func (w *Web) links(p page, s *Spelling, yield func(*Spelling)) {
	nav := min(int64(w.opt.Nav), w.size[p.host])
	for i := range nav {
		w.spell(s, page{p.host, i}, Own, 0)
		yield(s)
	}
	h := w.hash(tagLinks, p.id(), 0)
	for i := range int(exponential(h, w.opt.Links)) {
		h := w.hash(tagTarget, p.id(), uint64(i))
		w.spell(s, w.target(p, h), w.variant(h, true), again(h))
		yield(s)
	}
}

// target chooses where a link leads: mostly to the host's own well-known
// pages, sometimes to another host, the low ranks more often.
func (w *Web) target(from page, h uint64) page {
	host := from.host
	if h = again(h); unit(h) < w.opt.Cross {
		h = again(h)
		host = int32(math.Exp(unit(h)*math.Log(float64(len(w.size))))) - 1
		host = min(max(host, 0), int32(len(w.size)-1))
	}
	n := float64(w.size[host])
	return page{host, int64(n * math.Pow(unit(again(h)), w.opt.Skew))}
}

// variant chooses the rule of a spelling: mostly none.
func (w *Web) variant(h uint64, fragments bool) Rule {
	h = mix(h ^ tagVariant)
	if unit(h) >= w.opt.Variant {
		return Own
	}
	return pickRule(again(h)>>8, fragments)
}
