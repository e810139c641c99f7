package canon

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/purell"

	"github.com/firstseen/firstseen/internal/fault"
)

// purellMaxHost bounds the host, in bytes, for a punycode encoder that is quadratic.
const purellMaxHost = 2000

// Purell writes URLs exactly as purell.NormalizeURLString does with these flags: use it to migrate
// a crawler whose keys were computed with purell. It has purell's faults: it decodes %2F in paths,
// and with SortQuery it loses parameters that contain a ";" or a stray "%".
// Where purell fails, the error wraps [ErrURL].
//
// One departure: a host of more than 2,000 bytes is refused with [ErrTooLong],
// because purell takes quadratic time to encode it.
//
// Laws: neither, whatever the flags.
func Purell(flags purell.NormalizationFlags) *Profile {
	flags &= purell.FlagsAllGreedy | purell.FlagsAllNonGreedy // purell ignores other bits
	return &Profile{name: "purell", version: 1, spec: purellSpec(flags), rules: purellRules(flags), engine: purellEngine{flags}}
}

type purellEngine struct{ flags purell.NormalizationFlags }

func (e purellEngine) appendCanonical(dst, raw []byte) ([]byte, error) {
	out, err := runPurell(string(raw), e.flags)
	if err != nil {
		return dst, err
	}
	return append(dst, out...), nil
}

func runPurell(raw string, flags purell.NormalizationFlags) (string, error) {
	if len(raw) > purellMaxHost {
		if u, err := url.Parse(raw); err == nil && len(u.Host) > purellMaxHost {
			return "", fault.As(ErrTooLong, "cannot canonicalize as purell does; got a host of %d bytes; want at most %d", len(u.Host), purellMaxHost)
		}
	}
	out, err := purell.NormalizeURLString(raw, flags)
	if err != nil {
		return "", fault.As(ErrURL, "cannot canonicalize as purell does; got %s: %v", quote(raw), err)
	}
	return out, nil
}

// steps adds one flag at a time, in the order purell runs them, so that each flag
// shows its own work. What purell does without any flag comes first. A host may be one
// that purell refuses until a later flag lower-cases it: the last run decides.
func (e purellEngine) steps(raw []byte) (steps []Step, err error) {
	before, with := string(raw), purell.NormalizationFlags(0)
	add := func(rule Rule) {
		after, failed := runPurell(string(raw), with)
		err = failed
		if failed == nil && after != before {
			steps = append(steps, Step{Rule: rule, Before: before, After: after})
			before = after
		}
	}
	add(purellParse)
	for _, f := range purellFlags {
		if e.flags&f.flag != 0 {
			with |= f.flag
			add(Rule(f.name))
		}
	}
	return steps, err
}

func parsePurell(spec string) (*Profile, error) {
	var flags purell.NormalizationFlags
	for word := range strings.SplitSeq(spec, ",") {
		f, ok := findPurellFlag(word)
		if !ok {
			return nil, fmt.Errorf("cannot parse purell flags; got %s in %s; want names as in purell:safe,remove-fragment: %s", quote(word), quote(spec), purellNames())
		}
		flags |= f
	}
	return Purell(flags), nil
}

// purellParse is what purell does with no flag at all: parse, map the host, escape again.
const purellParse Rule = "purell-parse"

type purellFlag struct {
	name string
	flag purell.NormalizationFlags
	does string
}

// purellFlags is every single flag, in the order purell runs them. The four that do
// nothing by themselves come first; they are kept so that String returns the flags as typed.
var purellFlags = [...]purellFlag{
	{"uppercase-escapes", purell.FlagUppercaseEscapes, "nothing of its own: purell always rewrites escapes in the path"},
	{"decode-unnecessary-escapes", purell.FlagDecodeUnnecessaryEscapes, "nothing of its own: purell always decodes the path"},
	{"encode-necessary-escapes", purell.FlagEncodeNecessaryEscapes, "nothing of its own: purell always encodes the path"},
	{"remove-empty-query-separator", purell.FlagRemoveEmptyQuerySeparator, `nothing of its own: purell always drops a lone "?"`},
	{"lowercase-scheme", purell.FlagLowercaseScheme, "lower-cases the scheme"},
	{"lowercase-host", purell.FlagLowercaseHost, "lower-cases the host"},
	{"remove-default-port", purell.FlagRemoveDefaultPort, "drops :80 of http and :443 of https"},
	{"remove-directory-index", purell.FlagRemoveDirectoryIndex, "drops index.* and default.* at the end of the path"},
	{"remove-dot-segments", purell.FlagRemoveDotSegments, "removes . and .. segments"},
	{"remove-fragment", purell.FlagRemoveFragment, "drops the fragment"},
	{"force-http", purell.FlagForceHTTP, "writes http for https"},
	{"remove-duplicate-slashes", purell.FlagRemoveDuplicateSlashes, "collapses // in the path"},
	{"remove-www", purell.FlagRemoveWWW, "drops www. before the host"},
	{"add-www", purell.FlagAddWWW, "puts www. before the host"},
	{"sort-query", purell.FlagSortQuery, "sorts parameters by decoded name and value, and loses those it cannot parse"},
	{"decode-dword-host", purell.FlagDecodeDWORDHost, "writes a decimal host as an IPv4 address"},
	{"decode-octal-host", purell.FlagDecodeOctalHost, "writes an octal host as an IPv4 address"},
	{"decode-hex-host", purell.FlagDecodeHexHost, "writes a hexadecimal host as an IPv4 address"},
	{"remove-unnecessary-host-dots", purell.FlagRemoveUnnecessaryHostDots, "drops dots around the host and repeated ones in it"},
	{"remove-empty-port-separator", purell.FlagRemoveEmptyPortSeparator, "drops a colon without a port"},
	{"remove-trailing-slash", purell.FlagRemoveTrailingSlash, "drops a slash at the end of the path"},
	{"add-trailing-slash", purell.FlagAddTrailingSlash, "puts a slash at the end of the path"},
}

// purellPresets is purell's convenience sets, the larger ones first.
var purellPresets = [...]purellFlag{
	{name: "all-greedy", flag: purell.FlagsAllGreedy},
	{name: "all-non-greedy", flag: purell.FlagsAllNonGreedy},
	{name: "unsafe-greedy", flag: purell.FlagsUnsafeGreedy},
	{name: "unsafe-non-greedy", flag: purell.FlagsUnsafeNonGreedy},
	{name: "usually-safe-greedy", flag: purell.FlagsUsuallySafeGreedy},
	{name: "usually-safe-non-greedy", flag: purell.FlagsUsuallySafeNonGreedy},
	{name: "safe", flag: purell.FlagsSafe},
	{name: "none", flag: 0},
}

// findPurellFlag reads one name: "remove-fragment", or purell's own FlagRemoveFragment
// and FlagsSafe.
func findPurellFlag(word string) (purell.NormalizationFlags, bool) {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "")) }
	if word = strings.TrimSpace(word); strings.HasPrefix(word, "-") {
		return 0, false // not a sign: a flag is off unless it is named
	}
	word = plain(word)
	for _, f := range purellFlags {
		if name := plain(f.name); word == name || word == "flag"+name {
			return f.flag, true
		}
	}
	for _, f := range purellPresets {
		if name := plain(f.name); word == name || word == "flags"+name {
			return f.flag, true
		}
	}
	return 0, false
}

// purellSpec names flags in the shortest way: the largest set they hold, then the rest.
func purellSpec(flags purell.NormalizationFlags) string {
	var names []string
	for _, set := range purellPresets {
		if flags&set.flag == set.flag && (set.flag != 0 || flags == 0) {
			names = append(names, set.name)
			flags &^= set.flag
			break
		}
	}
	for _, f := range purellFlags {
		if flags&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ",")
}

func purellRules(flags purell.NormalizationFlags) []RuleInfo {
	infos := []RuleInfo{{Rule: purellParse, Does: "parses, maps the host to ASCII and escapes again", Source: "purell.NormalizeURLString",
		Risk: "decodes %2F and other reserved characters of the path", Default: true}}
	for _, f := range purellFlags {
		if flags&f.flag != 0 {
			infos = append(infos, RuleInfo{Rule: Rule(f.name), Does: f.does, Source: "purell", Default: true})
		}
	}
	return infos
}

func purellNames() string {
	var names []string
	for _, f := range append(purellPresets[:], purellFlags[:]...) {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
