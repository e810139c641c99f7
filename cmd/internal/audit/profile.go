package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
)

// leaveOneOut counts what the profile saves less without each of its rules.
func (x *index) leaveOneOut(ctx context.Context, r *Report, p *canon.Profile) error {
	whole := x.mergesOf(p)
	for _, rule := range p.Rules() {
		i := slices.IndexFunc(r.Forms, func(v Verdict) bool { return v.Name == string(rule.Rule) })
		if !rule.Optional || i < 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		without, err := p.With(canon.Disable(rule.Rule))
		if err != nil {
			return fmt.Errorf("cannot leave rule %s out: %w", rule.Rule, err)
		}
		less := whole - x.mergesOf(without)
		r.Forms[i].LeftOut = &less
	}
	return nil
}

// mergesOf counts the merges of a profile.
func (x *index) mergesOf(p *canon.Profile) int {
	g := x.group(&Form{append: p.AppendCanonical})
	defer g.release()
	return g.merges()
}

// maxAttributed bounds how many merges are attributed, since each is explained.
const maxAttributed = 20_000

// attribute counts the profile's merges by the smallest set of rules that
// makes them. Of very many merges the first ones, in order of hash, stand for all.
func (x *index) attribute(p *canon.Profile) []Share {
	merges, seen := map[string]int{}, 0
	g := x.group(&Form{append: p.AppendCanonical})
	defer g.release()
	g.each(func(urls []uint32) {
		for _, b := range urls[1:] {
			if seen++; seen > maxAttributed {
				return
			}
			c, err := p.Compare(string(x.urls.at(urls[0])), string(x.urls.at(b)))
			if err != nil {
				continue // a URL without a form is alone in its group
			}
			merges[joinRules(c.Rules)]++
		}
	})
	var shares []Share
	for rules, n := range merges {
		shares = append(shares, Share{strings.Split(rules, " "), n})
	}
	slices.SortFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Merges, a.Merges), slices.Compare(a.Rules, b.Rules))
	})
	return shares
}

func joinRules(rules []canon.Rule) string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = string(r)
	}
	return strings.Join(names, " ")
}

// against judges what a change from one profile to another would join and split.
func (x *index) against(p, other *canon.Profile) *Against {
	ours := Form{Name: p.String(), Kind: RuleSet, append: p.AppendCanonical}
	theirs := Form{Name: other.String(), Kind: RuleSet, append: other.AppendCanonical}
	joined, split := theirs, ours
	joined.base, split.base = &ours, &theirs
	return &Against{
		Profile: other.String(),
		Joined:  x.verdict(x.group(&joined), &joined),
		Split:   x.verdict(x.group(&split), &split),
	}
}
