package canon

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
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

// ruleDef is a rule with the function that does it. before works on the text before it is cut into parts, do on
// the parts. The two rules that have neither, scoped-rules and keep-hashbang, change what other rules do.
type ruleDef struct {
	RuleInfo
	before func(raw string) string
	do     func(w *work)
}

// rules is every rule of the qiita profile, in order; the index is the ruleID.
// The risks are measured, reported, or follow from a specification; where none is known the rule names none.
var rules = [ruleCount]ruleDef{
	rTrimSpace: {must(TrimSpace, "URL Standard 4.4 step 1",
		"cuts blanks and control characters off both ends"), whatwg.TrimSpace, nil},
	rDropNewlines: {must(DropNewlines, "URL Standard 4.4 step 3",
		"removes tabs and line ends inside"), whatwg.DropNewlines, nil},
	rRepairAmp: {optional(RepairAmp, "HTML Standard 13.2.5.72: character references; courlan",
		`reads &amp;, &#38; and &#x26; as "&" behind the host, also doubled (&amp;amp;), for links that were scraped without decoding them`,
		`a parameter or a path with such a text in it`), repairAmp, nil},
	rLowercaseScheme: {must(LowercaseScheme, "RFC 3986 6.2.2.1",
		"lower-cases the scheme"), nil, (*work).lowercaseScheme},
	rFixSlashes: {must(FixSlashes, "URL Standard 4.4, special authority states",
		`writes "://" after the scheme and "/" for "\" in the path`), nil, (*work).fixSlashes},
	rScopedRules: {optional(ScopedRules, "rule file",
		"switches other rules on or off for a host and path, by a rule file", "see the rules that it switches on"), nil, nil},
	rKeepHashbang: {optional(KeepHashbang, "Google AJAX crawling scheme (withdrawn)",
		`spares a fragment that begins with "!" from drop-fragment`, ""), nil, nil},
	rDropFragment: {byDefault(DropFragment, "RFC 9110 4.2.5: not sent to the server",
		`drops the fragment; keep-fragment switches it off`,
		"pages that a script builds from the fragment (#!, single-page sites): 37 of 100,016 links of the top 100 sites"), nil, (*work).dropFragment},
	rDropQuery: {optional(DropQuery, "audits only",
		"drops the whole query", "every page made from parameters"), nil, (*work).dropQuery},
	rEscapeUserinfo: {must(EscapeUserinfo, "URL Standard 4.4, authority state; RFC 3986 6.2.2",
		"normalises the escapes of user and password, and drops empty ones; keeps their case"), nil, (*work).escapeUserinfo},
	rStripUserinfo: {optional(StripUserinfo, "Heritrix StripUserinfoRule; crawler-commons, Nutch, SURT, normalize-url",
		"drops user and password",
		"a server that shows each user something else; ftp servers, where the user can choose the root. Without it, a link that was meant as mailto: (https://email@host/) makes a copy of the whole site"), nil, (*work).stripUserinfo},
	rDecodeHost: {must(DecodeHost, "URL Standard 3.5 step 4",
		"decodes escapes in the host"), nil, (*work).decodeHost},
	rLowercaseHost: {must(LowercaseHost, "RFC 3986 6.2.2.1",
		"lower-cases the ASCII letters of the host"), nil, (*work).lowercaseHost},
	rHostToASCII: {risky(HostToASCII, "UTS #46, non-transitional; URL Standard 3.3",
		"maps a host with non-ASCII letters to its xn-- form; an ASCII host does not change, whatever its xn-- labels encode",
		"hosts that UTS #46 maps to one (as browsers do: ﬁ and fi, capitals, full-width letters); a host that a client with older Unicode tables maps differently (ẞ to ss before 15.1)"), nil, (*work).hostToASCII},
	rCanonicalIP: {must(CanonicalIP, "URL Standard 3.5, IPv4 and IPv6 parsers",
		"writes IPv4 in four decimal numbers, IPv6 in its shortest form"), nil, (*work).canonicalIP},
	rDefaultPort: {must(DefaultPort, "RFC 3986 6.2.3",
		"drops the scheme's default port, an empty port and leading zeros"), nil, (*work).defaultPort},
	rStripTrailingDot: {optional(StripTrailingDot, "purell RemoveUnnecessaryHostDots; Safe Browsing",
		"drops the final dot of a host", "none seen; a resolver with a search list can treat the two names differently"), nil, (*work).stripTrailingDot},
	rStripWWW: {optional(StripWWW, "Heritrix StripWWWRule; SURT",
		`drops each leading "www." while two labels or more remain`,
		"sites that serve something else without www: 4 of 5 measured servers answered 4xx"), nil, (*work).stripWWW},
	rFoldHTTPS: {optional(FoldHTTPS, "purell ForceHTTP, SURT (both the other way)",
		"writes https for http where the port is the default one", "sites whose two schemes differ"), nil, (*work).foldHTTPS},
	rEscapeStrayPercent: {risky(EscapeStrayPercent, "RFC 3986 2.4",
		`writes %25 for a "%" that begins no escape`,
		"/a%zzb becomes /a%25zzb: a server that does not decode its path can have a page for each"), nil, (*work).escapeStrayPercent},
	rUppercaseEscapes: {must(UppercaseEscapes, "RFC 3986 6.2.2.1",
		"upper-cases the digits of escapes"), nil, (*work).uppercaseEscapes},
	rDecodeUnreserved: {risky(DecodeUnreserved, "RFC 3986 6.2.2.2",
		"decodes the escapes of letters, digits and -._~", "none on a server that follows RFC 3986; on MediaWiki 8 of 60 pages differed"), nil, (*work).decodeUnreserved},
	rEscapeIllegal: {risky(EscapeIllegal, "RFC 3986 2.1; URL Standard 1.3",
		"escapes characters that must not appear unescaped",
		"an unescaped ' in a query becomes %27, and [ ] and | their escapes: a script that does not decode its query can treat them differently"), nil, (*work).escapeIllegal},
	rLowercasePath: {optional(LowercasePath, "SURT; audits only",
		"lower-cases the path", "nearly every server with case-sensitive files: all 5 measured ones answered 4xx"), nil, (*work).lowercasePath},
	rStripSessionIDs: {optional(StripSessionIDs, "Heritrix StripSessionIDs, webarchive-commons",
		"drops session parameters from the query, and ;jsessionid=… and /(S(…))/ from the path; the list is below",
		"a parameter that has a name of the list and is not a session"), nil, (*work).stripSessionIDs},
	rDotSegments: {risky(DotSegments, "RFC 3986 5.2.4, 6.2.2.3",
		`removes "." and ".." segments`, "no page that a browser can reach: gitweb has different pages for dot segments that are sent unchanged"), nil, (*work).dotSegments},
	rCollapseSlashes: {byDefault(CollapseSlashes, "the Qiita article; no RFC",
		"makes one slash of several in the path; keep-duplicate-slashes switches it off",
		"URLs inside paths (/web/2020/http://…); different pages for 14 of 14 on gitweb, 30 of 60 on MediaWiki"), nil, (*work).collapseSlashes},
	rStripTrailingSlash: {optional(StripTrailingSlash, "purell RemoveTrailingSlash; SURT",
		"drops the final slash of a path, except the path /", "different pages for 53 of 60 on MediaWiki, 4xx for 29 of 31 on Apache"), nil, (*work).stripTrailingSlash},
	rStripIndex: {optional(StripIndex, "purell RemoveDirectoryIndex",
		"drops index.html, default.aspx and the like from the end of a path; the list is below", "servers whose directory page is another file"), nil, (*work).stripIndex},
	rEmptyPath: {must(EmptyPath, "RFC 3986 6.2.3",
		`writes "/" for an empty path`), nil, (*work).emptyPath},
	rDropEmptyPairs: {risky(DropEmptyPairs, "URL Standard 5.1 (form parsing)",
		`drops the empty pairs of "&&"`,
		"a script that compares its query as text: same page on all 5 measured servers"), nil, (*work).dropEmptyPairs},
	rCompleteParams: {byDefault(CompleteParams, "RFC 5849 3.4.1.3.1; the Qiita article",
		`writes "a=" for "a"; keep-bare-params switches it off`,
		"old CGI searches (?word) that treat them differently"), nil, (*work).completeParams},
	rStripTrackingParams: {optional(StripTrackingParams, "their vendors: see the list below",
		"drops parameters that only record where a visitor came from",
		"sites that read them or print them: 10 of 42 pages of DokuWiki changed slightly, half of the pages of MediaWiki changed more than that"), nil, (*work).stripTracking},
	rScopedParams: {optional(ScopedParams, "rule file",
		"drops or keeps parameters for a host and path, by a rule file", "depends on the rule file"), nil, (*work).scopedParams},
	rDropEmptyParams: {optional(DropEmptyParams, "courlan, crawler-commons",
		`drops parameters with an empty value ("a=")`, "flags given without a value"), nil, (*work).dropEmptyParams},
	rSortQuery: {byDefault(SortQuery, "RFC 5849 3.4.1.3.2; the Qiita article",
		"sorts the parameters by name; keep-param-order switches it off, and sort-values with it",
		"order-sensitive servers (same page for 28 of 30 on MediaWiki)"), nil, (*work).sortQuery},
	rSortValues: {byDefault(SortValues, "RFC 5849 3.4.1.3.2; the Qiita article",
		"sorts the parameters of one name by value; keep-value-order switches it off",
		"pages for which the order of repeated parameters counts: ?sort=name&sort=-date and the reverse, lists of PHP and Zope (?steps[]=Z&steps[]=A). Of 127,475 links it reorders 224 and merges none"), nil, (*work).sortValues},
	rDropEmptyQuery: {risky(DropEmptyQuery, "the Qiita article; against the letter of RFC 3986 6.2.3",
		`drops the "?" of an empty query`,
		"/? becomes /: these are two URLs by RFC 3986; same page on all 5 measured servers"), nil, (*work).dropEmptyQuery},
}

func must(rule Rule, source, does string) RuleInfo {
	return RuleInfo{Rule: rule, Source: source, Does: does, Default: true}
}

func risky(rule Rule, source, does, risk string) RuleInfo {
	return RuleInfo{Rule: rule, Source: source, Does: does, Risk: risk, Default: true}
}

func byDefault(rule Rule, source, does, risk string) RuleInfo {
	return RuleInfo{Rule: rule, Source: source, Does: does, Risk: risk, Default: true, Optional: true}
}

func optional(rule Rule, source, does, risk string) RuleInfo {
	return RuleInfo{Rule: rule, Source: source, Does: does, Risk: risk, Optional: true}
}

func defaultRules() (s ruleSet) {
	for id := range ruleCount {
		if rules[id].Default {
			s = s.with(id)
		}
	}
	return s
}

// optionalNames lists what can be switched by name; a rule file switches the two scoped rules.
func optionalNames() string {
	var optional ruleSet
	for id := range ruleCount {
		if rules[id].Optional && id != rScopedParams && id != rScopedRules {
			optional = optional.with(id)
		}
	}
	names := ""
	for _, a := range aliases {
		names += string(a.name) + ", "
	}
	return names + optional.list()
}
