package canon

import (
	"fmt"
	"strings"
)

// A Rule names one step of the qiita profile, as typed: "collapse-slashes". The steps
// of the other profiles have names of their own, which cannot be switched.
type Rule string

// The rules in the order they run. [AllRules] and docs/ref/RULES.md describe each.
const (
	TrimSpace           Rule = "trim-space"
	DropNewlines        Rule = "drop-newlines"
	RepairAmp           Rule = "repair-amp"
	LowercaseScheme     Rule = "lowercase-scheme"
	FixSlashes          Rule = "fix-slashes"
	ScopedRules         Rule = "scoped-rules"
	KeepHashbang        Rule = "keep-hashbang"
	DropFragment        Rule = "drop-fragment"
	DropQuery           Rule = "drop-query"
	EscapeUserinfo      Rule = "escape-userinfo"
	StripUserinfo       Rule = "strip-userinfo"
	DecodeHost          Rule = "decode-host"
	LowercaseHost       Rule = "lowercase-host"
	HostToASCII         Rule = "host-to-ascii"
	CanonicalIP         Rule = "canonical-ip"
	DefaultPort         Rule = "default-port"
	StripTrailingDot    Rule = "strip-trailing-dot"
	StripWWW            Rule = "strip-www"
	FoldHTTPS           Rule = "fold-https"
	EscapeStrayPercent  Rule = "escape-stray-percent"
	UppercaseEscapes    Rule = "uppercase-escapes"
	DecodeUnreserved    Rule = "decode-unreserved"
	EscapeIllegal       Rule = "escape-illegal"
	LowercasePath       Rule = "lowercase-path"
	StripSessionIDs     Rule = "strip-session-ids"
	DotSegments         Rule = "dot-segments"
	CollapseSlashes     Rule = "collapse-slashes"
	StripTrailingSlash  Rule = "strip-trailing-slash"
	StripIndex          Rule = "strip-index"
	EmptyPath           Rule = "empty-path"
	DropEmptyPairs      Rule = "drop-empty-pairs"
	CompleteParams      Rule = "complete-params"
	StripTrackingParams Rule = "strip-tracking-params"
	ScopedParams        Rule = "scoped-params"
	DropEmptyParams     Rule = "drop-empty-params"
	SortQuery           Rule = "sort-query"
	SortValues          Rule = "sort-values"
	DropEmptyQuery      Rule = "drop-empty-query"
)

// Names for switching a default rule off by switching something on.
const (
	KeepFragment         Rule = "keep-fragment"          // Disable(DropFragment)
	KeepDuplicateSlashes Rule = "keep-duplicate-slashes" // Disable(CollapseSlashes)
	KeepBareParams       Rule = "keep-bare-params"       // Disable(CompleteParams)
	KeepParamOrder       Rule = "keep-param-order"       // Disable(SortQuery)
	KeepValueOrder       Rule = "keep-value-order"       // Disable(SortValues)
)

// RuleInfo describes a rule: its effect, its source and its risk.
type RuleInfo struct {
	Rule     Rule   // the name, as typed
	Does     string // its effect, in a sentence
	Source   string // where it is specified, or who does it
	Risk     string // which distinct pages it can merge; "" if none is known
	Optional bool   // whether it can be switched
	Default  bool   // whether the preset has it on
}

// ruleID numbers the rules in the order of the table; a ruleSet is a set of them.
type ruleID uint8

type ruleSet uint64

func (s ruleSet) has(id ruleID) bool         { return s&(1<<id) != 0 }
func (s ruleSet) with(ids ...ruleID) ruleSet { return s | setOfRules(ids) }
func (s ruleSet) without(id ruleID) ruleSet  { return s &^ (1 << id) }

func setOfRules(ids []ruleID) (s ruleSet) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

func (s ruleSet) ids() (ids []ruleID) {
	for id := range ruleCount {
		if s.has(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s ruleSet) names() []Rule {
	names := []Rule{}
	for _, id := range s.ids() {
		names = append(names, rules[id].Rule)
	}
	return names
}

// list returns the names of the rules for a person to read.
func (s ruleSet) list() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.names()), " ", ", "), "[]")
}

const (
	rTrimSpace ruleID = iota
	rDropNewlines
	rRepairAmp
	rLowercaseScheme
	rFixSlashes
	rScopedRules
	rKeepHashbang
	rDropFragment
	rDropQuery
	rEscapeUserinfo
	rStripUserinfo
	rDecodeHost
	rLowercaseHost
	rHostToASCII
	rCanonicalIP
	rDefaultPort
	rStripTrailingDot
	rStripWWW
	rFoldHTTPS
	rEscapeStrayPercent
	rUppercaseEscapes
	rDecodeUnreserved
	rEscapeIllegal
	rLowercasePath
	rStripSessionIDs
	rDotSegments
	rCollapseSlashes
	rStripTrailingSlash
	rStripIndex
	rEmptyPath
	rDropEmptyPairs
	rCompleteParams
	rStripTrackingParams
	rScopedParams
	rDropEmptyParams
	rSortQuery
	rSortValues
	rDropEmptyQuery
	ruleCount
)

// aliases are the keep-… names and the default rules that they switch off.
var aliases = []struct {
	name Rule
	id   ruleID
}{
	{KeepFragment, rDropFragment},
	{KeepDuplicateSlashes, rCollapseSlashes},
	{KeepBareParams, rCompleteParams},
	{KeepParamOrder, rSortQuery},
	{KeepValueOrder, rSortValues},
}

// switchRule returns s with one optional rule on or off.
func (s ruleSet) switchRule(r Rule, on bool) (ruleSet, error) {
	id, on, err := switched(r, on)
	switch {
	case err != nil:
		return s, err
	case on:
		return s.with(id), nil
	}
	return s.without(id), nil
}

// switched returns the rule that a name switches, and whether it switches it on.
func switched(r Rule, on bool) (ruleID, bool, error) {
	id := findRule(r)
	for _, a := range aliases {
		if a.name == r {
			id, on = a.id, !on
		}
	}
	switch {
	case id == ruleCount:
		return 0, on, fmt.Errorf("cannot switch rule; got %q; want one of the optional rules: %s", r, optionalNames())
	case !rules[id].Optional:
		return 0, on, fmt.Errorf("cannot switch rule; got %q, which is part of the form; want one of the optional rules: %s", r, optionalNames())
	}
	return id, on, nil
}

func findRule(r Rule) ruleID {
	for id := range ruleCount {
		if rules[id].Rule == r {
			return id
		}
	}
	return ruleCount
}

// AllRules lists every rule there is for the qiita profile, in the order they run,
// switched on by default or not. The slice is the caller's.
func AllRules() []RuleInfo {
	infos := make([]RuleInfo, 0, len(rules))
	for id := range rules {
		infos = append(infos, rules[id].RuleInfo)
	}
	return infos
}
