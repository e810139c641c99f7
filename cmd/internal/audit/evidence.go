package audit

import "net/http"

// Outcome is what content says of two URLs that a rule merges.
type Outcome uint8

// The outcomes.
const (
	Same      Outcome = iota // the captures nearest in time have one digest
	Redirect                 // one URL redirects to the other's form
	Different                // the digests differ, and neither URL was seen to change, or one had a page soon after the other had none
	Volatile                 // the digests differ, and one of the URLs changes by itself
	Failed                   // one of them was only ever answered 4xx or 5xx
	NoDigest                 // there is nothing to compare
	numOutcomes
)

// String returns the outcome's name in reports.
func (o Outcome) String() string {
	return [...]string{"same", "redirect", "different", "volatile", "error", "no digest"}[o]
}

// MarshalText returns the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// judge compares two URLs of one group.
func (x *index) judge(a, b uint32, sameForm func(u, v uint32) bool) (Outcome, [2]capture) {
	if x.redirectsInto(a, b, sameForm) || x.redirectsInto(b, a, sameForm) {
		return Redirect, [2]capture{}
	}
	near, ok := x.nearest(x.of(a), x.of(b))
	switch {
	case !ok && (x.failed(a) || x.failed(b)):
		return Failed, near
	case !ok:
		return NoDigest, near
	case near[0].digest == near[1].digest:
		return Same, near
	case x.changes[a] || x.changes[b]:
		return Volatile, near
	}
	return Different, near
}

func (x *index) redirectsInto(from, to uint32, sameForm func(u, v uint32) bool) bool {
	for _, target := range x.redirects[from] {
		if target == to || sameForm(target, to) {
			return true
		}
	}
	return false
}

// refused reports that a server said of a URL, and never otherwise, that it has no page there: not that it could not answer
// at the time, unless it failed twice.
func (x *index) refused(url uint32) bool {
	said := 0
	for _, c := range x.of(url) {
		switch {
		case c.status < 400:
			return false
		case c.status == http.StatusRequestTimeout, c.status == http.StatusTooEarly, c.status == http.StatusTooManyRequests, c.status == http.StatusServiceUnavailable:
		case c.status >= 500:
			said++
		default:
			said += 2
		}
	}
	return said > 1
}

// failed reports that a URL was captured, and never with success.
func (x *index) failed(url uint32) bool {
	for _, c := range x.of(url) {
		if c.status < 400 {
			return false
		}
	}
	return len(x.of(url)) > 0
}

// lost returns two captures which show that a page was not found under one of two URLs, and was there under the other soon after: a
// crawler that takes the two for one, and fetches the wrong one, loses the page. The other way round the page may have been deleted in between.
func (x *index) lost(a, b uint32) (near [2]capture, ok bool) {
	if near, ok = x.foundAfter(a, b); ok {
		return near, true
	}
	near, ok = x.foundAfter(b, a)
	return [2]capture{near[1], near[0]}, ok
}

// soon is how many seconds after a URL was not found another one must have been fetched to show that its page was there. A frontier
// fetches the canonical form of such a URL next.
const soon = 24 * 60 * 60

// foundAfter returns a capture of a URL that was never found, and the first of a page soon after it.
func (x *index) foundAfter(gone, page uint32) (near [2]capture, ok bool) {
	pages := x.of(page) // by time, like the others
	for _, g := range x.of(gone) {
		if g.status != http.StatusNotFound && g.status != http.StatusGone {
			return near, false
		}
		for len(pages) > 0 && (pages[0].time < g.time || !pages[0].usable()) {
			pages = pages[1:]
		}
		if !ok && len(pages) > 0 && pages[0].time-g.time <= soon {
			near, ok = [2]capture{g, pages[0]}, true
		}
	}
	return near, ok
}

// nearest returns the usable captures of two URLs that are closest in time and have
// digests of one algorithm.
func (x *index) nearest(a, b []capture) (near [2]capture, ok bool) {
	best := uint32(0)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case !a[i].usable():
			i++
			continue
		case !b[j].usable():
			j++
			continue
		}
		gap := max(a[i].time, b[j].time) - min(a[i].time, b[j].time)
		if (!ok || gap < best) && x.comparable(a[i], b[j]) {
			near, best, ok = [2]capture{a[i], b[j]}, gap, true
		}
		if a[i].time <= b[j].time {
			i++
		} else {
			j++
		}
	}
	return near, ok
}

// majority looks at all captures of two URLs of which one was seen to change, where the nearest two differ: it returns the
// content of more than half of them, if both URLs had it. Then they are one page, which a few fetches showed otherwise.
func (x *index) majority(a, b uint32) (digest uint32, ok bool) {
	had, all := map[uint32][2]int{}, 0
	for i, url := range [2]uint32{a, b} {
		for _, c := range x.of(url) {
			if c.usable() {
				n := had[c.digest]
				n[i]++
				had[c.digest] = n
				all++
			}
		}
	}
	for digest, n := range had {
		if n[0] > 0 && n[1] > 0 && 2*(n[0]+n[1]) > all {
			return digest, true
		}
	}
	return 0, false
}

// refetched reports whether a URL was captured again, so that a change by itself would have been seen.
func (x *index) refetched(url uint32) bool {
	n := 0
	for _, c := range x.of(url) {
		if c.usable() {
			n++
		}
	}
	return n > 1
}

// pairContent identifies the contents that a pair of URLs was judged by. Two pairs with
// equal values are one piece of evidence.
type pairContent struct {
	outcome Outcome
	a, b    uint64 // a <= b
}

// contentOf returns what the outcome of a pair is based on: the digests that were compared;
// for a redirect the content it leads to; for an error the content of the page that exists.
func (x *index) contentOf(a, b uint32, o Outcome, near [2]capture) pairContent {
	switch o {
	case Redirect:
		if !x.redirectsInto(a, b, x.never) { // b redirects to a, or to another URL of its form
			b = a
		}
		page := x.pageOf(b)
		return pairContent{o, page, page}
	case Failed:
		if x.failed(b) {
			b = a
		}
		page := x.pageOf(b)
		return pairContent{o, page, page}
	case Volatile:
		o = Different
	}
	u, v := uint64(near[0].digest), uint64(near[1].digest)
	return pairContent{o, min(u, v), max(u, v)}
}

func (*index) never(uint32, uint32) bool { return false }

// pageOf returns the digest of the first content of a URL or, where there is none, a number
// that no other URL and no digest has.
func (x *index) pageOf(url uint32) uint64 {
	for _, c := range x.of(url) {
		if c.usable() {
			return uint64(c.digest)
		}
	}
	return 1<<32 + uint64(url)
}

// contents is a set of them. The zero value is empty.
type contents struct{ seen map[pairContent]struct{} }

// add reports whether c is new.
func (s *contents) add(c pairContent) bool {
	if _, ok := s.seen[c]; ok {
		return false
	}
	if s.seen == nil {
		s.seen = map[pairContent]struct{}{}
	}
	s.seen[c] = struct{}{}
	return true
}

// evidence is what pairs of URLs say of a rule: those of one host for an audit, those of one half of the pages for learn.
// Each content counts once: a server that answers most URLs alike would otherwise outvote the pages that exist.
type evidence struct {
	Evidence
	redirects int      // of the pairs
	control   float64  // sum of the shares of the pairs' controls; 1 for what is sure
	bad       int      // contents that were different, or changing, despite a stable control
	dead      int      // pairs with no page under either name
	repeats   int      // pairs whose contents were counted before
	missing   int      // contents that were there under one name alone
	lost      int      // all of these, whatever fair makes of them
	loose     int      // contents that were the same, and not counted for want of a stable control
	unsure    contents // those in loose
	counted   contents // so far
	alike     Evidence // of all contents, whatever their control; each once
	heard     contents // the contents counted in alike
}

// add counts a pair, and reports whether it is new evidence: its control is stable, and its contents were not counted. If what
// the pair says is sure, no change took anything of it.
func (e *evidence) add(x *index, a, b uint32, o Outcome, near [2]capture, sure bool) bool {
	c, stable := control{1, 1}, true
	if o == Same || o == Different || o == Volatile {
		c, _, stable = x.stable(a, b)
	}
	if !stable {
		if o == Same && e.unsure.add(x.contentOf(a, b, o, near)) {
			e.loose++
		}
		return false
	}
	if sure {
		c = control{1, 1}
	}
	if !e.counted.add(x.contentOf(a, b, o, near)) {
		e.repeats++
		return false
	}
	e.Pairs, e.control = e.Pairs+1, e.control+c.share()
	switch o {
	case Redirect:
		e.redirects++
		e.Held++
	case Same:
		e.Held++
	case Failed:
		e.missing++
		e.bad++
	default:
		e.bad++
	}
	return true
}

// fair returns the evidence with as many of the missing pages as there are controls for contents that agree. That a page is missing
// needs no control. Where nothing was fetched twice, missing pages would be all that counts, however many agree.
func (e evidence) fair() evidence {
	e.lost = e.missing
	if held := e.Held - e.redirects; e.loose > 0 {
		less := e.missing - (e.missing*held+(held+e.loose)/2)/(held+e.loose)
		e.Pairs, e.bad, e.missing, e.control = e.Pairs-less, e.bad-less, e.missing-less, e.control-float64(less)
	}
	return e
}

// loses reports whether more pages are missing under one name than a rule may lose, even if all contents that agree count.
func (e evidence) loses() bool {
	agree := float64(e.Held + e.loose)
	return e.lost > 0 && agree < minShare*(agree+float64(e.lost))
}

// share puts back what change took.
func (e evidence) share() float64 {
	if e.Pairs == 0 {
		return 0
	}
	return min(1, float64(e.Held)/e.control)
}

func (e evidence) plus(d evidence) evidence {
	e.Pairs, e.Held, e.redirects, e.control = e.Pairs+d.Pairs, e.Held+d.Held, e.redirects+d.redirects, e.control+d.control
	e.bad, e.dead, e.repeats = e.bad+d.bad, e.dead+d.dead, e.repeats+d.repeats
	e.lost, e.loose = e.lost+d.lost, e.loose+d.loose
	e.alike.Pairs, e.alike.Held = e.alike.Pairs+d.alike.Pairs, e.alike.Held+d.alike.Held
	return e
}

// interval is that of the share of contents that are one page.
func (e evidence) interval(confidence float64) Interval {
	return Wilson(e.share()*float64(e.Pairs), float64(e.Pairs), confidence)
}

func (e evidence) finish(confidence float64) Evidence {
	e.Interval = e.interval(confidence)
	return e.Evidence
}
