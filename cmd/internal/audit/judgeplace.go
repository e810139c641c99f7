package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/firstseen/firstseen/canon"
)

// sightWithout files the URLs that lack a parameter beside those that have it:
// "/p?id=1" is what "/p?id=1&ref=2" is without ref.
func (l *learner) sightWithout() {
	byPlace := map[[2]string][]lesson{}
	for p, lesson := range l.places {
		key := [2]string{p.host, p.path}
		byPlace[key] = append(byPlace[key], lesson)
	}
	for _, id := range l.ids {
		v, ok := l.variant(id)
		if !ok {
			continue
		}
		page := without(v.front, v.pairs, nil)
		for _, lesson := range byPlace[[2]string{v.host, v.dir}] {
			if urls, ok := lesson[page]; ok && !slices.Contains(urls, id) {
				lesson[page] = append(urls, id)
			}
		}
	}
}

// sourceOf returns what a rule can rest on, or the reason why it isn't proposed. A rule that the
// contents speak against is not proposed, whatever is declared.
func sourceOf(c *claims, halves [2]evidence, compared int) (Source, string) {
	why := doubtContents(halves, compared)
	if c == nil {
		return FromContent, why
	}
	all := halves[0].plus(halves[1])
	whyDeclared := doubtDeclared(c, all)
	switch {
	case why == "" && whyDeclared == "":
		return FromBoth, ""
	case why == "":
		return FromContent, ""
	case whyDeclared == "" && !against(halves[0]) && !against(halves[1]) && !against(all):
		return FromDeclarations, ""
	case len(c.pages) > 0:
		return "", why + "; " + whyDeclared
	}
	return "", why
}

// weighed is what the log shows of a rule at a place: a parameter to drop, or a fold.
type weighed struct {
	place
	rule     canon.Rule // "" for a parameter
	saves    int
	halves   [2]evidence
	compared int
	claims   *claims
	example  [2]uint32
	shown    bool // there is an example
	loops    bool // the form that the rule makes redirects back
}

// weighPlace compares the URLs that differ in the parameter alone.
func (l *learner) weighPlace(p place, s lesson) *weighed {
	w := &weighed{place: p, saves: s.saves(), claims: l.claims[p]}
	for _, page := range slices.Sorted(maps.Keys(s)) { // in one order, as grouping.groups
		urls := s[page]
		slices.SortFunc(urls, l.compareURLs)
		for _, b := range urls[1:] {
			if slices.Contains(l.redirects[urls[0]], b) {
				w.loops = true
				return w
			}
			l.weigh(w, int(page&1), urls[0], b, func(u, v uint32) bool { return false })
		}
	}
	w.end()
	return w
}

// weigh adds one pair to a half.
func (l *learner) weigh(w *weighed, half int, a, b uint32, sameForm func(u, v uint32) bool) {
	if !w.shown || l.compareURLs(a, w.example[0]) < 0 {
		w.example, w.shown = [2]uint32{a, b}, true
	}
	e := &w.halves[half]
	switch outcome, near := l.index.judge(a, b, sameForm); outcome {
	case NoDigest:
	case Failed:
		if l.refused(a) == l.refused(b) {
			e.dead++
			return
		}
		fallthrough // there is a page under one name and none under the other: the rule would lose it
	case Redirect:
		w.compared++
		e.add(l.index, a, b, outcome, near, false)
	default:
		w.compared++
		// Where both URLs were fetched again, a change by itself was seen, and the others are sure. What pages that changed say
		// of each other is chance, unless most of their captures agree: digests with a part drawn at random on a few
		// fetches would otherwise each be a content that speaks against the rule.
		sure := l.refetched(a) && l.refetched(b)
		chance := sure && outcome == Volatile
		if outcome == Volatile {
			if digest, same := l.majority(a, b); same {
				outcome, near, sure, chance = Same, [2]capture{{digest: digest}, {digest: digest}}, true, false
			}
		}
		if e.heard.add(l.contentOf(a, b, outcome, near)) {
			e.alike.Pairs++
			if outcome == Same {
				e.alike.Held++
			}
		}
		if !chance {
			e.add(l.index, a, b, outcome, near, sure)
		}
	}
}

// end is called when all pairs are weighed.
func (w *weighed) end() {
	for i := range w.halves {
		e := w.halves[i].fair()
		e.counted, e.heard, e.unsure = contents{}, contents{}, contents{} // they are large, and all is counted
		w.halves[i] = e
	}
}

// decide proposes a rule for a place, or lists it with the reason why not. doubt is asked for more reasons; nil has none.
func (l *learner) decide(found *Learned, w *weighed, doubt func(Source) string) (proposed bool) {
	source, why := sourceOf(w.claims, w.halves, w.compared)
	switch {
	case w.loops && w.rule == "":
		why = "a page without it redirects to one with it, so that dropping it could loop"
	case w.loops:
		why = "the folded form redirects back, so that a crawler could loop"
	case why == "" && !mayName(w.host):
		why = "rules have no such host"
	case why == "" && doubt != nil:
		why = doubt(source)
	}
	if why != "" {
		found.LeftOut = append(found.LeftOut, Candidate{Host: w.host, Path: w.path, Param: w.param, Rule: w.rule, URLs: w.saves, Why: why,
			Declared: w.claims.summary(), Pairs: w.halves[0].Pairs + w.halves[1].Pairs, Held: w.halves[0].Held + w.halves[1].Held,
			harms: w.loops || against(w.halves[0]) || against(w.halves[1]) || against(w.halves[0].plus(w.halves[1]))})
		return false
	}
	p := Proposal{Host: w.host, Path: w.path, Param: w.param, Rule: w.rule, Saves: w.saves, Source: source, Declared: w.claims.summary(),
		Learned: w.halves[0].finish(l.confidence), Validated: w.halves[1].finish(l.confidence)}
	if w.shown {
		p.Example = [2]string{string(l.urls.at(w.example[0])), string(l.urls.at(w.example[1]))}
	} else if w.claims != nil {
		p.Example = w.claims.example
	}
	found.Proposals = append(found.Proposals, p)
	return true
}

// mayName reports whether a rule file may name a host. URLs may have others, such as a..b.example, which no name server knows.
func mayName(host string) bool {
	_, err := canon.ParseURLSet([]byte(host))
	return err == nil
}

// leastSure is the least lower bound, in the interval of both halves together, of the share
// of contents that are one page: 35 that all agree reach it.
const leastSure = 0.9

// minAgainst is how many contents must speak against a rule before it is said to change the
// page, where fewer than MinPairs were compared.
const minAgainst = 3

// doubtContents returns the reason why a rule isn't proposed, or "".
func doubtContents(halves [2]evidence, compared int) string {
	all := halves[0].plus(halves[1])
	switch {
	case compared == 0:
		return fmt.Sprintf("untested: no two of its pages have contents to compare; want %d contents with a stable control in each half", minPairs)
	case all.Pairs == 0:
		return fmt.Sprintf("untested: none of %d pairs has a stable control, as its pages change by themselves or were hardly fetched twice; want %d contents with one in each half", compared, minPairs)
	}
	for i, name := range [...]string{"learned from", "validated on"} {
		if against(halves[i]) {
			return fmt.Sprintf("it changes the page: only %.1f %% of the %d contents %s are one page; want %g %%", below(halves[i].share()), halves[i].Pairs, name, 100*minShare)
		}
	}
	if against(all) {
		return fmt.Sprintf("it changes the page: only %.1f %% of the %d contents are one page; want %g %%", below(all.share()), all.Pairs, 100*minShare)
	}
	for i, name := range [...]string{"learned from", "validated on"} {
		if e := halves[i]; e.Pairs >= minPairs && e.share() < minShare {
			return fmt.Sprintf("not sure enough: %.1f %% of the %d contents %s are one page; want %g %%", below(e.share()), e.Pairs, name, 100*minShare)
		}
	}
	if n := min(halves[0].Pairs, halves[1].Pairs); n < minPairs {
		return fmt.Sprintf("untested: %d contents with a stable control in one half; want %d", n, minPairs)
	}
	if low := all.interval(0.95).Low; low < leastSure {
		return fmt.Sprintf("not sure enough: %d of %d contents are one page, which leaves room for %.1f %%; want at least %g %%",
			all.Held, all.Pairs, below(low), 100*leastSure)
	}
	return ""
}

// below is a share in percent, rounded down: one that misses a bound must not look as if it reached it.
func below(share float64) float64 { return math.Floor(1000*share) / 10 }

// against reports whether the evidence shows that a rule changes pages, beyond what chance explains.
func against(e evidence) bool {
	return (e.Pairs >= minPairs || e.bad >= minAgainst) && e.interval(0.95).High < minShare
}
