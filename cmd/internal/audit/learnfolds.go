package audit

import (
	"bytes"
	"cmp"
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
	defer f.group.release()
	byHost := map[string][]foldPair{}
	f.group.each(func(urls []uint32) {
		host, pairs := f.pairs(urls)
		byHost[host] = append(byHost[host], pairs...)
	})
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
	return string(hostName(canon.Host(site))), pairs
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
	halves, compared, loops := f.weighAll(pairs)
	below := byDirectory(path, pairs)
	claims := claimsBelow(path, f.heard[host])
	source, why := f.opt.source(claims, halves, compared)
	switch {
	case loops:
		why = loopsBack
	case why == "" && source == FromDeclarations:
		why = f.doubtDeclaredBelow(below)
	case why == "":
		why = f.doubtBelow(path, below)
	}
	if why == "" {
		f.propose(host, path, pairs, halves, source, claims)
		return
	}
	if len(pairs) == 0 && claims == nil {
		return
	}
	f.found.LeftOut = append(f.found.LeftOut, Candidate{Host: host, Path: path + "/", Rule: f.rule, URLs: len(pairs), Why: why, Declared: claims.summary(),
		Pairs: halves[0].Pairs + halves[1].Pairs, Held: halves[0].Held + halves[1].Held})
	if strings.Count(path, "/") == maxDepth {
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(below)) {
		if dir != path && len(below[dir]) >= 2*f.opt.MinPairs {
			f.judge(host, dir, below[dir])
		}
	}
}

const loopsBack = "the folded form redirects back, so that a crawler could loop"

func (f *folder) propose(host, path string, pairs []foldPair, halves [2]evidence, source Source, claims *claims) {
	var example [2]string
	if claims != nil {
		example = claims.example
	}
	if len(pairs) > 0 {
		example = f.firstOf(pairs)
	}
	f.found.Proposals = append(f.found.Proposals, Proposal{Host: host, Path: path + "/", Rule: f.rule, Saves: len(pairs),
		Learned: halves[0].finish(f.options), Validated: halves[1].finish(f.options),
		Source: source, Declared: claims.summary(), Example: example})
}

// firstOf returns the shortest pair as an example.
func (f *folder) firstOf(pairs []foldPair) [2]string {
	first := slices.MinFunc(pairs, func(p, q foldPair) int {
		return cmp.Or(f.compareURLs(p.a, q.a), f.compareURLs(p.b, q.b))
	})
	return [2]string{string(f.urls.at(first.a)), string(f.urls.at(first.b))}
}

func (f *folder) weighAll(pairs []foldPair) (halves [2]evidence, compared int, loops bool) {
	for _, p := range pairs {
		compared += f.weigh(&halves[p.half], p.a, p.b, f.group.sameForm)
		loops = loops || p.loop
	}
	return halves, compared, loops
}

// doubtBelow returns the directory that speaks against a fold for path: one where it changes
// pages, beyond what chance explains, or where many pages could not be tested, so that the
// evidence is all from elsewhere.
func (f *folder) doubtBelow(path string, below map[string][]foldPair) string {
	for _, dir := range slices.Sorted(maps.Keys(below)) {
		where := "below " + dir + "/"
		if dir == path {
			where = "in " + dir + "/ itself"
		}
		halves, _, loops := f.weighAll(below[dir])
		all := halves[0].plus(halves[1])
		alive := len(below[dir]) - all.dead - all.repeats
		switch {
		case loops:
			return "a folded form redirects back " + where
		case f.opt.against(all):
			return "it changes pages " + where
		case all.Pairs < f.opt.MinPairs && alive >= 2*f.opt.MinPairs:
			return fmt.Sprintf("untested %s: %d of %d pairs have a stable control", where, all.Pairs, alive)
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
