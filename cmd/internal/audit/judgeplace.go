package audit

import (
	"fmt"
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

// evidence gathers the pairs of one half.
type evidence struct {
	Evidence
	control float64
	bad     int // pairs that were different, or changing, despite a stable control
	dead    int // pairs with no page under either name
}

// judgePlace says whether a parameter may go at a place, or why not.
func (l *learner) judgePlace(p place, s *lesson) (*Proposal, *Candidate) {
	var halves [2]evidence
	proposal := &Proposal{Host: p.host, Path: p.path, Param: p.param}
	compared, shown, example := 0, false, [2]uint32{}
	for page, urls := range s.pages {
		slices.SortFunc(urls, l.compareURLs)
		for _, b := range urls[1:] {
			if l.loops(urls[0], b) {
				return nil, p.leave(halves, "a page without it redirects to one with it, so that dropping it could loop")
			}
			compared += l.weigh(&halves[page&1], urls[0], b, func(u, v uint32) bool { return false })
			if !shown || l.compareURLs(urls[0], example[0]) < 0 {
				example, shown = [2]uint32{urls[0], b}, true
			}
		}
	}
	if why := l.opt.doubt(halves, compared); why != "" {
		return nil, p.leave(halves, why)
	}
	proposal.Example = [2]string{string(l.urls.at(example[0])), string(l.urls.at(example[1]))}
	proposal.Learned, proposal.Validated = halves[0].finish(l.options), halves[1].finish(l.options)
	return proposal, nil
}

// loops says that a URL without the parameter redirects to one with it.
func (l *learner) loops(a, b uint32) bool { return slices.Contains(l.redirects[a], b) }

// weigh adds one pair to a half, and returns 1 if it could be compared.
func (l *learner) weigh(e *evidence, a, b uint32, sameForm func(u, v uint32) bool) int {
	outcome, _ := l.index.judge(a, b, sameForm)
	switch outcome {
	case Failed:
		if l.failed(a) == l.failed(b) {
			e.dead++
			return 0
		}
		// There is a page under one name and none under the other: the fold would lose it.
		e.Pairs, e.control, e.bad = e.Pairs+1, e.control+1, e.bad+1
		return 1
	case NoDigest:
		return 0
	case Redirect:
		e.Pairs, e.Held, e.control = e.Pairs+1, e.Held+1, e.control+1
		return 1
	}
	c, _, stable := l.stable(a, b)
	if !stable {
		return 1
	}
	e.Pairs, e.control = e.Pairs+1, e.control+c.share()
	if outcome == Same {
		e.Held++
	} else {
		e.bad++
	}
	return 1
}

// doubt says why a parameter isn't proposed, "" if there is no reason.
func (o LearnOptions) doubt(halves [2]evidence, compared int) string {
	pairs := halves[0].Pairs + halves[1].Pairs
	switch {
	case compared == 0:
		return "no two of its pages have contents to compare"
	case pairs == 0:
		return fmt.Sprintf("untested: its pages change by themselves, or were hardly fetched twice (%d pairs)", compared)
	}
	for i, name := range [...]string{"learned from", "validated on"} {
		e := halves[i]
		switch share := e.share(); {
		case e.Pairs >= o.MinPairs && share < o.MinShare && Wilson(share*float64(e.Pairs), float64(e.Pairs), 0.95).High < o.MinShare:
			return fmt.Sprintf("it changes the page: only %.1f %% of the %d pairs %s are one page", 100*share, e.Pairs, name)
		case e.Pairs >= o.MinPairs && share < o.MinShare:
			return fmt.Sprintf("not sure enough: %.1f %% of the %d pairs %s are one page; want %g %%", 100*share, e.Pairs, name, 100*o.MinShare)
		case e.Pairs < o.MinPairs && pairs >= o.MinPairs && float64(e.bad) > 0.5*float64(e.Pairs):
			return "it changes the page"
		}
	}
	if n := min(halves[0].Pairs, halves[1].Pairs); n < o.MinPairs {
		return fmt.Sprintf("untested: %d pairs with a stable control in one half; want %d", n, o.MinPairs)
	}
	return ""
}

// share puts back what change took.
func (e evidence) share() float64 {
	if e.Pairs == 0 {
		return 0
	}
	return min(1, float64(e.Held)/e.control)
}

func (e evidence) plus(d evidence) evidence {
	e.Pairs, e.Held = e.Pairs+d.Pairs, e.Held+d.Held
	e.control, e.bad, e.dead = e.control+d.control, e.bad+d.bad, e.dead+d.dead
	return e
}

func (e evidence) finish(o Options) Evidence {
	e.Interval = Wilson(e.share()*float64(e.Pairs), float64(e.Pairs), o.Confidence)
	return e.Evidence
}

func (p place) leave(halves [2]evidence, why string) *Candidate {
	return &Candidate{Host: p.host, Path: p.path, Param: p.param, Why: why,
		Pairs: halves[0].Pairs + halves[1].Pairs, Held: halves[0].Held + halves[1].Held}
}
