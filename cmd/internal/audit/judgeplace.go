package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/firstseen/firstseen/canon"
)

// sightWithout files the URLs that lack a parameter beside those that have it:
// "/p?id=1" is what "/p?id=1&ref=2" is without ref.
func (l *learner) sightWithout() {
	byPlace := map[[2]string][]*lesson{}
	for p, lesson := range l.places {
		key := [2]string{p.host, p.path}
		byPlace[key] = append(byPlace[key], lesson)
	}
	for _, id := range l.ids {
		front, pairs, ok := l.parts(id)
		if !ok {
			continue
		}
		page := without(front, pairs, nil)
		key := [2]string{string(hostName(canon.Host(front))), string(directory(front))}
		for _, lesson := range byPlace[key] {
			if urls, ok := lesson.pages[page]; ok && !slices.Contains(urls, id) {
				lesson.pages[page] = append(urls, id)
			}
		}
	}
}

// evidence gathers what the pairs of one half say. Each content counts once: a server that
// answers most URLs alike would otherwise outvote the pages that exist.
type evidence struct {
	Evidence
	control float64
	bad     int      // contents that were different, or changing, despite a stable control
	dead    int      // pairs with no page under either name
	repeats int      // pairs whose contents were counted before
	counted contents // so far
	alike   Evidence // of all contents, whatever their control; each once
	heard   contents // the contents counted in alike
}

func (e *evidence) compare(c pairContent, same bool) {
	if e.heard.add(c) {
		e.alike.Pairs++
		if same {
			e.alike.Held++
		}
	}
}

// source returns what a rule can rest on, or the reason why it isn't proposed. A rule that the
// contents speak against is not proposed, whatever is declared.
func (o LearnOptions) source(c *claims, halves [2]evidence, compared int) (Source, string) {
	why := o.doubt(halves, compared)
	if c == nil {
		return FromContent, why
	}
	all := halves[0].plus(halves[1])
	whyDeclared := o.doubtDeclared(c, all)
	switch {
	case why == "" && whyDeclared == "":
		return FromBoth, ""
	case why == "":
		return FromContent, ""
	case whyDeclared == "" && !o.against(halves[0]) && !o.against(halves[1]) && !o.against(all):
		return FromDeclarations, ""
	case len(c.pages[0])+len(c.pages[1]) > 0:
		return "", why + "; " + whyDeclared
	}
	return "", why
}

// weighed is what the contents show of a parameter at a place.
type weighed struct {
	place
	saves    int
	halves   [2]evidence
	compared int
	example  [2]uint32
	shown    bool // there is an example
	loops    bool // a page without the parameter redirects to one with it
}

// weighPlace compares the URLs that differ in the parameter alone.
func (l *learner) weighPlace(p place, s *lesson) *weighed {
	w := &weighed{place: p, saves: s.saves()}
	for _, page := range slices.Sorted(maps.Keys(s.pages)) { // in one order, as grouping.each
		urls := s.pages[page]
		slices.SortFunc(urls, l.compareURLs)
		for _, b := range urls[1:] {
			if l.loops(urls[0], b) {
				w.loops = true
				return w
			}
			w.compared += l.weigh(&w.halves[page&1], urls[0], b, func(u, v uint32) bool { return false })
			if !w.shown || l.compareURLs(urls[0], w.example[0]) < 0 {
				w.example, w.shown = [2]uint32{urls[0], b}, true
			}
		}
	}
	for i := range w.halves { // they are large, and all is counted
		w.halves[i].counted, w.halves[i].heard = contents{}, contents{}
	}
	return w
}

// judgePlace returns a proposal if a parameter can be removed at a place; otherwise a candidate
// with the reason why not.
func (l *learner) judgePlace(w *weighed) (*Proposal, *Candidate) {
	if w.loops {
		return nil, w.leave(w.halves, "a page without it redirects to one with it, so that dropping it could loop")
	}
	claims := l.claims[w.place]
	proposal := &Proposal{Host: w.host, Path: w.path, Param: w.param, Declared: claims.summary()}
	var why string
	if proposal.Source, why = l.opt.source(claims, w.halves, w.compared); why != "" {
		c := w.leave(w.halves, why)
		c.Declared = proposal.Declared
		return nil, c
	}
	if w.shown {
		proposal.Example = [2]string{string(l.urls.at(w.example[0])), string(l.urls.at(w.example[1]))}
	} else {
		proposal.Example = claims.example
	}
	proposal.Learned, proposal.Validated = w.halves[0].finish(l.options), w.halves[1].finish(l.options)
	return proposal, nil
}

// loops reports that a URL without the parameter redirects to one with it.
func (l *learner) loops(a, b uint32) bool { return slices.Contains(l.redirects[a], b) }

// weigh adds one pair to a half, and returns 1 if it could be compared.
func (l *learner) weigh(e *evidence, a, b uint32, sameForm func(u, v uint32) bool) int {
	outcome, near := l.index.judge(a, b, sameForm)
	c := control{1, 1}
	switch outcome {
	case NoDigest:
		return 0
	case Failed:
		if l.failed(a) == l.failed(b) {
			e.dead++
			return 0
		}
		// There is a page under one name and none under the other: the rule would lose it.
	case Same, Different, Volatile:
		e.compare(l.contentOf(a, b, outcome, near), outcome == Same)
		var stable bool
		if c, _, stable = l.stable(a, b); !stable {
			return 1
		}
	}
	if !e.counted.add(l.contentOf(a, b, outcome, near)) {
		e.repeats++
		return 1
	}
	e.Pairs, e.control = e.Pairs+1, e.control+c.share()
	if outcome == Same || outcome == Redirect {
		e.Held++
	} else {
		e.bad++
	}
	return 1
}

// leastSure is the least lower bound, in the interval of both halves together, of the share
// of contents that are one page: 35 that all agree reach it.
const leastSure = 0.9

// minAgainst is how many contents must speak against a rule before it is said to change the
// page, where fewer than MinPairs were compared.
const minAgainst = 3

// doubt returns the reason why a rule isn't proposed, or "".
func (o LearnOptions) doubt(halves [2]evidence, compared int) string {
	all := halves[0].plus(halves[1])
	switch {
	case compared == 0:
		return "no two of its pages have contents to compare"
	case all.Pairs == 0:
		return fmt.Sprintf("untested: its pages change by themselves, or were hardly fetched twice (%d pairs)", compared)
	}
	for i, name := range [...]string{"learned from", "validated on"} {
		if o.against(halves[i]) {
			return fmt.Sprintf("it changes the page: only %.1f %% of the %d contents %s are one page", 100*halves[i].share(), halves[i].Pairs, name)
		}
	}
	if o.against(all) {
		return fmt.Sprintf("it changes the page: only %.1f %% of the %d contents are one page", 100*all.share(), all.Pairs)
	}
	for i, name := range [...]string{"learned from", "validated on"} {
		if e := halves[i]; e.Pairs >= o.MinPairs && e.share() < o.MinShare {
			return fmt.Sprintf("not sure enough: %.1f %% of the %d contents %s are one page; want %g %%", 100*e.share(), e.Pairs, name, 100*o.MinShare)
		}
	}
	if n := min(halves[0].Pairs, halves[1].Pairs); n < o.MinPairs {
		return fmt.Sprintf("untested: %d contents with a stable control in one half; want %d", n, o.MinPairs)
	}
	if low := all.interval(0.95).Low; low < leastSure {
		return fmt.Sprintf("not sure enough: %d of %d contents are one page, which leaves room for %.0f %%; want at least %.0f %%",
			all.Held, all.Pairs, 100*low, 100*leastSure)
	}
	return ""
}

// against reports whether the evidence shows that a rule changes pages, beyond what chance explains.
func (o LearnOptions) against(e evidence) bool {
	return (e.Pairs >= o.MinPairs || e.bad >= minAgainst) && e.interval(0.95).High < o.MinShare
}

// share puts back what change took.
func (e evidence) share() float64 {
	if e.Pairs == 0 {
		return 0
	}
	return min(1, float64(e.Held)/e.control)
}

func (e evidence) plus(d evidence) evidence {
	e.Pairs, e.Held, e.control = e.Pairs+d.Pairs, e.Held+d.Held, e.control+d.control
	e.bad, e.dead, e.repeats = e.bad+d.bad, e.dead+d.dead, e.repeats+d.repeats
	e.alike.Pairs, e.alike.Held = e.alike.Pairs+d.alike.Pairs, e.alike.Held+d.alike.Held
	return e
}

// interval is that of the share of contents that are one page.
func (e evidence) interval(confidence float64) Interval {
	return Wilson(e.share()*float64(e.Pairs), float64(e.Pairs), confidence)
}

func (e evidence) finish(o Options) Evidence {
	e.Interval = e.interval(o.Confidence)
	return e.Evidence
}

func (p place) leave(halves [2]evidence, why string) *Candidate {
	return &Candidate{Host: p.host, Path: p.path, Param: p.param, Why: why,
		Pairs: halves[0].Pairs + halves[1].Pairs, Held: halves[0].Held + halves[1].Held}
}
