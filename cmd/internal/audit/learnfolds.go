package audit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
)

// foldRules are the folds that are tried for each site.
var foldRules = []canon.Rule{canon.StripWWW, canon.FoldHTTPS, canon.StripIndex, canon.StripTrailingSlash}

// maxDepth is how many directories deep a fold is tried where it doesn't hold higher up.
const maxDepth = 4

// foldPair is two URLs that a fold makes one.
type foldPair struct {
	a, b uint32
	half int
	dir  string // the directory of their site's path: "/a/b", or "" for the root
	loop bool   // the folded form redirects back to what folds to it
}

// learnFolds tries every fold at every site.
func (l *learner) learnFolds(ctx context.Context, found *Learned) error {
	site, err := l.safe.With(canon.Enable(append(foldRules, canon.StripTrailingDot)...))
	if err != nil {
		return fmt.Errorf("cannot make the profile of sites: %w", err)
	}
	for _, rule := range foldRules {
		with, err := l.safe.With(canon.Enable(rule))
		if err != nil {
			return fmt.Errorf("cannot try rule %s: %w", rule, err)
		}
		f := folder{learner: l, rule: rule, with: with, site: site, found: found}
		if err := f.try(ctx); err != nil {
			return err
		}
	}
	return nil
}

// folder tries one fold.
type folder struct {
	*learner
	rule  canon.Rule
	with  *canon.Profile // the safe rules and this one
	site  *canon.Profile // the safe rules and all that make a site of a URL
	found *Learned
	group *grouping
	heard map[string][]foldClaim // declarations, by the host of the site
}

func (f *folder) try(ctx context.Context) error {
	f.group = f.index.group(&Form{append: f.with.AppendCanonical, base: f.safeForm})
	byHost := map[string][]foldPair{}
	for _, urls := range f.group.groups {
		host, pairs := f.pairs(urls)
		byHost[host] = append(byHost[host], pairs...)
	}
	f.heard = f.hearFold()
	for host := range f.heard {
		if _, paired := byHost[host]; !paired {
			byHost[host] = nil // judged by its declarations alone
		}
	}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.judge(host, "", byHost[host])
	}
	return nil
}

// pairs lists the pairs of one group, and returns the host of their site.
func (f *folder) pairs(urls []uint32) (host string, pairs []foldPair) {
	form, err := f.with.AppendCanonical(nil, f.urls.at(urls[0]))
	if err != nil {
		return "", nil // a URL without a form is alone in its group
	}
	site, err := f.site.AppendCanonical(nil, form)
	if err != nil {
		return "", nil
	}
	dir := strings.TrimSuffix(string(directory(site)), "/")
	loop := f.loopsAt(urls, form)
	for _, b := range urls[1:] {
		pairs = append(pairs, foldPair{urls[0], b, int(stableHash(form) & 1), dir, loop})
	}
	return hostName(canon.Host(site)), pairs
}

// loopsAt reports that the URL of a group that is the folded form redirects to another one
// of the group.
func (f *folder) loopsAt(urls []uint32, form []byte) bool {
	for _, url := range urls {
		own, err := f.safe.AppendCanonical(nil, f.urls.at(url))
		if err != nil || !bytes.Equal(own, form) {
			continue
		}
		for _, target := range f.redirects[url] {
			other, err := f.safe.AppendCanonical(nil, f.urls.at(target))
			if err == nil && f.group.sameForm(url, target) && !bytes.Equal(own, other) {
				return true
			}
		}
	}
	return false
}

// judge proposes the fold for a host and path, or for directories below where it doesn't
// hold for all of it.
func (f *folder) judge(host, path string, pairs []foldPair) {
	w := f.weighAll(pairs)
	w.place, w.rule, w.claims = place{host: host, path: path + "/"}, f.rule, claimsBelow(path, f.heard[host])
	if len(pairs) == 0 && w.claims == nil {
		return
	}
	below := byDirectory(path, pairs)
	if f.decide(f.found, w, func(s Source) string { return f.doubtBelow(path, below, s) }) || strings.Count(path, "/") == maxDepth {
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(below)) {
		if dir != path && len(below[dir]) >= 2*minPairs {
			f.judge(host, dir, below[dir])
		}
	}
}

func (f *folder) weighAll(pairs []foldPair) *weighed {
	w := &weighed{saves: len(pairs)}
	for _, p := range pairs {
		f.weigh(w, p.half, p.a, p.b, f.group.sameForm)
		w.loops = w.loops || p.loop
	}
	w.end()
	return w
}

// doubtBelow returns the directory that speaks against a fold for path: one where it changes
// pages, beyond what chance explains, or where many pages could not be tested, so that the
// evidence is all from elsewhere. What is declared needs no test.
func (f *folder) doubtBelow(path string, below map[string][]foldPair, source Source) string {
	for _, dir := range slices.Sorted(maps.Keys(below)) {
		where := "below " + dir + "/"
		if dir == path {
			where = "in " + dir + "/ itself"
		}
		w := f.weighAll(below[dir])
		all := w.halves[0].plus(w.halves[1])
		alive := w.saves - all.dead - all.repeats
		switch {
		case source == FromDeclarations:
			if w.loops || against(all) || all.alike.Pairs >= minAgainst && float64(all.alike.Held) < leastAlike*float64(all.alike.Pairs) {
				return "the contents below " + dir + "/ speak against it"
			}
		case w.loops:
			return "a folded form redirects back " + where
		case against(all):
			return "it changes pages " + where
		case all.Pairs < minPairs && alive >= 2*minPairs:
			return fmt.Sprintf("untested %s: %d of %d pairs have a stable control; want %d", where, all.Pairs, alive, minPairs)
		}
	}
	return ""
}

// byDirectory parts the pairs by the directory one level below path; those of pages in
// path itself are under path.
func byDirectory(path string, pairs []foldPair) map[string][]foldPair {
	below := map[string][]foldPair{}
	for _, p := range pairs {
		dir := p.dir
		if rest := strings.TrimPrefix(dir[len(path):], "/"); strings.Contains(rest, "/") {
			dir = dir[:len(dir)-len(rest)+strings.IndexByte(rest, '/')]
		}
		below[dir] = append(below[dir], p)
	}
	return below
}
