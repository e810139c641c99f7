package audit

import (
	"context"
	"fmt"
	"slices"

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
	return x.group(&Form{append: p.AppendCanonical}).merges()
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
