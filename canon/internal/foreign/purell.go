package foreign

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/purell"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// purellMaxHost bounds the host, in bytes, for a punycode encoder that is quadratic.
const purellMaxHost = 2000

// Purell is purell with some of its flags.
type Purell struct{ flags purell.NormalizationFlags }

// Form returns what purell.NormalizeURLString does.
func (p Purell) Form(raw string) (string, error) {
	if len(raw) > purellMaxHost {
		if u, err := url.Parse(raw); err == nil && len(u.Host) > purellMaxHost {
			return "", fault.As(whatwg.ErrTooLong, "cannot canonicalize as purell does; got a host of %d bytes; want at most %d", len(u.Host), purellMaxHost)
		}
	}
	out, err := purell.NormalizeURLString(raw, p.flags)
	if err != nil {
		return "", fault.As(whatwg.ErrURL, "cannot canonicalize as purell does; got %s: %v", whatwg.Quote(raw), err)
	}
	return out, nil
}

// A PurellStep is what purell does with a flag: Form is its result with this flag and those before it, in the order
// in which purell runs them.
type PurellStep struct {
	Name, Does string
	Form       func(raw string) (string, error)
}

// Steps returns what purell does without any flag, and then a step for each flag that is set.
func (p Purell) Steps() []PurellStep {
	steps := []PurellStep{{"purell-parse", "parses, maps the host to ASCII and escapes again", Purell{}.Form}}
	var with Purell
	for _, f := range purellFlags {
		if p.flags&f.flag != 0 {
			with.flags |= f.flag
			steps = append(steps, PurellStep{f.name, f.does, with.Form})
		}
	}
	return steps
}

// ParsePurell reads names of flags and of sets of flags, with commas between them.
func ParsePurell(spec string) (p Purell, err error) {
	for word := range strings.SplitSeq(spec, ",") {
		f, ok := findPurellFlag(word)
		if !ok {
			return p, fmt.Errorf("cannot parse purell flags; got %s in %s; want names as in purell:safe,remove-fragment: %s", whatwg.Quote(word), whatwg.Quote(spec), purellNames())
		}
		p.flags |= f
	}
	return p, nil
}

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

// String names the flags in the shortest way: the largest set they hold, then the rest.
func (p Purell) String() string {
	var names []string
	flags := p.flags
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

func purellNames() string {
	var names []string
	for _, f := range append(purellPresets[:], purellFlags[:]...) {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
