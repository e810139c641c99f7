package canon

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/purell"
)

// purellMaxHost bounds the host, in bytes, for a punycode encoder that is quadratic.
const purellMaxHost = 2000

// Purell writes URLs exactly as purell.NormalizeURLString does with these flags: the way
// over for a crawler whose keys were made by purell. Its faults come with it, such as
// %2F decoded in paths, and with SortQuery parameters lost that hold a ";" or a stray "%".
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
			return "", fmt.Errorf("cannot canonicalize as purell does; got a host of %d bytes; want at most %d: %w", len(u.Host), purellMaxHost, ErrTooLong)
		}
	}
	out, err := purell.NormalizeURLString(raw, flags)
	if err != nil {
		return "", fmt.Errorf("cannot canonicalize as purell does; got %s: %v: %w", quote(raw), err, ErrURL)
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
