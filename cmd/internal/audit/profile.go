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
	leave := func(name string, option canon.Option) error {
		i := slices.IndexFunc(r.Forms, func(v Verdict) bool { return v.Name == name })
		if i < 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		without, err := p.With(option)
		if err != nil {
			return fmt.Errorf("cannot leave %s out: %w", name, err)
		}
		less := whole - x.mergesOf(without)
		r.Forms[i].LeftOut = &less
		return nil
	}
	for _, rule := range p.Rules() {
		if !rule.Optional {
			continue
		}
		if err := leave(string(rule.Rule), canon.Disable(rule.Rule)); err != nil {
			return err
		}
	}
	if DropsHashbang(p) {
		return leave(DropHashbang, canon.Enable(canon.KeepHashbang))
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
