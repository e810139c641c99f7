package replay

import (
	"slices"
	"sync"

	"github.com/firstseen/firstseen/canon"
)

// Rules is what each rule that can be switched does to the unique URLs: alone, on
// top of the parts of the form that can't be switched, and beside all the others.
type Rules struct {
	// Share of the spellings that was looked at: 1, or what fitted in memory. The
	// counts are scaled to all of them.
	Share     float64      `json:"share"`
	Spellings int64        `json:"spellings"` // distinct, byte by byte
	Fixed     int64        `json:"fixed"`     // after what the standards make equal
	Profile   int64        `json:"profile"`   // after the profile
	All       int64        `json:"all"`       // after every rule below
	Rules     []RuleEffect `json:"rules"`
}

// A RuleEffect is how many unique URLs a rule takes away.
type RuleEffect struct {
	Rule   string `json:"rule"`
	Active bool   `json:"active"` // in the profile
	Alone  int64  `json:"alone"`  // by this rule and no other
	// Marginal is, of an active rule, how many more unique URLs there would be
	// without it; of another one, how many fewer with it.
	Marginal int64  `json:"marginal"`
	One      string `json:"one,omitempty"` // two spellings that only this rule joins
	Other    string `json:"other,omitempty"`
}

// switched are the rules that are tried: those that can be switched, except keep-hashbang, rules of
// rule files, and rules for audits.
var switched = []canon.Rule{
	canon.DropFragment, canon.SortQuery, canon.SortValues, canon.CompleteParams, canon.CollapseSlashes, canon.StripWWW, canon.FoldHTTPS,
	canon.StripTrailingSlash, canon.StripIndex, canon.StripTrackingParams, canon.StripSessionIDs, canon.DropEmptyParams, canon.StripTrailingDot,
	canon.StripUserinfo, canon.RepairAmp,
}

// variants are the profiles that are compared.
type variants struct {
	fixed, profile, all *canon.Profile
	alone, beside       []*canon.Profile
	active              []bool
}

// newVariants derives them; it fails for a profile whose rules can't be switched.
func newVariants(p *canon.Profile) (*variants, error) {
	v := &variants{profile: p}
	var err error
	derive := func(from *canon.Profile, opt canon.Option) *canon.Profile {
		if err != nil {
			return nil
		}
		var to *canon.Profile
		to, err = from.With(opt)
		return to
	}
	v.fixed = derive(p, canon.Disable(switched...))
	v.all = derive(p, canon.Enable(switched...))
	for _, rule := range switched {
		active := slices.ContainsFunc(p.Rules(), func(i canon.RuleInfo) bool { return i.Rule == rule })
		v.active = append(v.active, active)
		v.alone = append(v.alone, derive(v.fixed, canon.Enable(rule)))
		if active {
			v.beside = append(v.beside, derive(p, canon.Disable(rule)))
		} else {
			v.beside = append(v.beside, derive(p, canon.Enable(rule)))
		}
	}
	return v, err
}

// A sample keeps distinct spellings in groups that every rule together joins; so no
// subset of the rules joins spellings of two groups. When it grows too big it keeps
// every second group, by hash.
type sample struct {
	groups map[uint64][]string
	bytes  int64
	most   int64
	halved uint
}

const (
	sampleBytes   = 24 << 20
	spellingBytes = 40 // beside its text
)

func newSample() *sample { return &sample{groups: map[uint64][]string{}, most: sampleBytes} }

func (s *sample) add(group uint64, spelling []byte) {
	if !s.keeps(group) {
		return
	}
	s.groups[group] = append(s.groups[group], string(spelling))
	for s.bytes += int64(len(spelling) + spellingBytes); s.bytes > s.most; {
		s.halve()
	}
}

func (s *sample) keeps(group uint64) bool { return group&(1<<s.halved-1) == 0 }

func (s *sample) halve() {
	s.halved++
	for group, list := range s.groups {
		if s.keeps(group) {
			continue
		}
		for _, spelling := range list {
			s.bytes -= int64(len(spelling) + spellingBytes)
		}
		delete(s.groups, group)
	}
}

// measure compares the variants over the sample. spellings and unique are the exact
// counts of the whole stream.
func (s *sample) measure(v *variants, workers int, spellings, unique int64) *Rules {
	keys := make([]uint64, 0, len(s.groups))
	for key := range s.groups {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	parts := make([]Rules, workers) // the spellings that are merged
	var group sync.WaitGroup
	for w := range parts {
		group.Go(func() {
			parts[w].Rules = make([]RuleEffect, len(switched))
			for i := w * len(keys) / workers; i < (w+1)*len(keys)/workers; i++ {
				parts[w].add(v, s.groups[keys[i]])
			}
		})
	}
	group.Wait()
	scale := int64(1) << s.halved
	r := &Rules{Share: 1 / float64(scale), Spellings: spellings, Fixed: spellings, Profile: unique, All: spellings}
	for i, rule := range switched {
		r.Rules = append(r.Rules, RuleEffect{Rule: string(rule), Active: v.active[i]})
	}
	for _, p := range parts {
		r.Fixed -= scale * p.Fixed
		r.All -= scale * p.All
		for i := range r.Rules {
			e := &r.Rules[i]
			e.Alone += scale * p.Rules[i].Alone
			e.Marginal += scale * p.Rules[i].Marginal
			if e.One == "" {
				e.One, e.Other = p.Rules[i].One, p.Rules[i].Other
			}
		}
	}
	return r
}

// add compares the variants over one group.
func (r *Rules) add(v *variants, group []string) {
	slices.Sort(group)
	if group = slices.Compact(group); len(group) < 2 {
		return // nothing joins it to another
	}
	forms := make(map[string]int, len(group))
	fixed := distinct(v.fixed, group, forms)
	profile := distinct(v.profile, group, forms)
	r.Fixed += int64(len(group) - fixed)
	r.All += int64(len(group) - distinct(v.all, group, forms))
	if fixed == 1 {
		return // the rules have nothing left to join
	}
	for i := range switched {
		e := &r.Rules[i]
		e.Alone += int64(fixed - distinct(v.alone[i], group, forms))
		change := int64(profile - distinct(v.beside[i], group, forms))
		if change < 0 {
			change = -change
		}
		if e.Marginal += change; change > 0 && e.One == "" {
			e.One, e.Other = v.pair(i, group)
		}
	}
}

// distinct counts the forms of a group. forms is scratch space.
func distinct(p *canon.Profile, group []string, forms map[string]int) int {
	clear(forms)
	for _, spelling := range group {
		if form, err := p.Canonicalize(spelling); err == nil {
			forms[form]++
		}
	}
	return len(forms)
}

// pair finds two spellings that one rule makes the difference for.
func (v *variants) pair(rule int, group []string) (one, other string) {
	apart, joined := v.profile, v.beside[rule]
	if v.active[rule] {
		apart, joined = joined, apart
	}
	first := map[string]string{}
	for _, spelling := range group {
		form, err := joined.Canonicalize(spelling)
		if err != nil {
			continue
		}
		known, ok := first[form]
		if !ok {
			first[form] = spelling
			continue
		}
		a, _ := apart.Canonicalize(known)
		if b, _ := apart.Canonicalize(spelling); a != b {
			return excerpt([]byte(known)), excerpt([]byte(spelling))
		}
	}
	return "", ""
}
