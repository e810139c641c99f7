package canon

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// A Profile is one way of writing URLs canonically: a named, versioned list of rules.
// It is immutable; derive another one with [Profile.With]. A Profile is safe
// for concurrent use. Use it as *Profile, from one of the constructors.
type Profile struct {
	name    string
	version int
	spec    string // what follows "name:" in String; "" for a preset
	rules   []RuleInfo
	engine  engine
}

// engine is what runs behind a Profile. Both methods must be safe for concurrent use
// and must neither keep nor change raw.
type engine interface {
	// appendCanonical appends the canonical form of raw to dst.
	// On error it returns dst as it came, and an error that wraps one sentinel.
	appendCanonical(dst, raw []byte) ([]byte, error)
	// steps returns the steps from raw to its canonical form; each step's Before
	// is the After of the one before it.
	steps(raw []byte) ([]Step, error)
}

// stringEngine is an engine that can cut strings rather than copy them.
type stringEngine interface {
	canonicalize(raw string) (string, error)
}

// deriver is an engine whose rules can be switched.
type deriver interface {
	derive(opts []Option) (*Profile, error)
}

// Name is the profile's name as typed on a command line: "qiita", "whatwg", …
func (p *Profile) Name() string { return p.name }

// Version grows when the canonical form of any URL changes between releases.
func (p *Profile) Version() int { return p.version }

// String returns the profile in full, as [ParseProfile] reads it: the name, then the rules that
// were switched: "qiita:+strip-www,-collapse-slashes". Rules that came from a rule file
// show as a digest, which ParseProfile refuses. Two profiles of one String and one
// Version give equal canonical forms.
func (p *Profile) String() string {
	if p.spec == "" {
		return p.name
	}
	return p.name + ":" + p.spec
}

// Rules returns the rules that the profile applies, in order. WHATWG and None, which have no
// rules to choose from, return an empty list. The caller may change the slice.
func (p *Profile) Rules() []RuleInfo { return append([]RuleInfo(nil), p.rules...) }

// AppendCanonical appends the canonical form of raw to dst and returns the longer slice.
// On error dst is returned unchanged; the error wraps [ErrURL], [ErrScheme] or [ErrTooLong].
// raw is neither kept nor changed, and must not overlap the spare capacity of dst.
func (p *Profile) AppendCanonical(dst, raw []byte) ([]byte, error) {
	return p.engine.appendCanonical(dst, raw)
}

// Canonicalize returns the canonical form of raw: raw itself, or a part of it, when
// nothing else changes. Errors are those of [Profile.AppendCanonical].
func (p *Profile) Canonicalize(raw string) (string, error) {
	if e, ok := p.engine.(stringEngine); ok {
		return e.canonicalize(raw)
	}
	out, err := p.engine.appendCanonical(nil, bytesOf(raw))
	if err != nil {
		return "", err
	}
	if string(out) == raw {
		return raw, nil
	}
	return string(out), nil
}

// With derives a profile by options. Only qiita has rules to switch; for the others any
// option is an error, and so is a rule name that does not exist.
func (p *Profile) With(opts ...Option) (*Profile, error) {
	if len(opts) == 0 {
		return p, nil
	}
	d, ok := p.engine.(deriver)
	if !ok {
		return nil, fmt.Errorf("cannot derive from profile %s: its rules are fixed; rules and rule files work only with qiita", p)
	}
	derived, err := d.derive(opts)
	if err != nil {
		return nil, fmt.Errorf("cannot derive from profile %s: %w", p, err)
	}
	return derived, nil
}

// WithRules derives a profile by a list as typed: "+strip-www,-collapse-slashes". A name
// without sign counts as "+"; "max=N" is [WithMaxLength], and "lists=N" [WithLists]. It reads what follows the colon
// in [Profile.String], but for the digest of a rule file.
func (p *Profile) WithRules(spec string) (*Profile, error) {
	var opts []Option
	for _, word := range strings.Split(spec, ",") {
		if word = strings.TrimSpace(word); word != "" {
			opts = append(opts, optionOf(word))
		}
	}
	return p.With(opts...)
}

func optionOf(word string) Option {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case key == "max" || key == "lists":
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			return func(*settings) error { return fmt.Errorf("cannot read %s; got %q; want a number", key, value) }
		case key == "lists":
			return WithLists(n)
		}
		return WithMaxLength(n)
	case key == "file":
		return func(*settings) error {
			return fmt.Errorf("cannot add a rule file by its digest %s: give the file itself (--rule-file)", value)
		}
	case word[0] == '-':
		return Disable(Rule(word[1:]))
	}
	return Enable(Rule(strings.TrimPrefix(word, "+")))
}

// WithListsOf returns p with the lists of the profile that a store recorded, its [Profile.String]: a
// store keeps the lists that it was created with. If p does not differ in its rules, the String of the
// result is then recorded. p itself is returned if its lists were chosen, by [WithLists] or
// a rule file, or if one of the two uses no lists.
func (p *Profile) WithListsOf(recorded string) *Profile {
	q, ok := p.engine.(*qiita)
	if !ok || q.pinned || !q.usesLists() {
		return p
	}
	// The other rules don't matter, and a rule file may be among them.
	name, spec, _ := strings.Cut(recorded, ":")
	on, version := defaultRules(), 1
	for _, word := range strings.Split(spec, ",") {
		if number, ok := strings.CutPrefix(word, "lists="); ok {
			version, _ = strconv.Atoi(number)
		} else if word != "" {
			on, _ = on.switchRule(Rule(word[1:]), word[0] == '+')
		}
	}
	if name != p.name || on&listRules == 0 || version < 1 || version > newestLists || version == q.lists.version {
		return p
	}
	s := q.settings
	s.lists = versions[version]
	return newQiita(s)
}

// ParseRecorded reads a profile that a store recorded, this release or an earlier one. It differs from
// [ParseProfile] in one point: a profile that names no lists has version 1 of them.
func ParseRecorded(s string) (*Profile, error) {
	p, err := ParseProfile(s)
	if err != nil {
		return nil, err
	}
	return p.WithListsOf(s), nil
}

// ParseProfile reads a profile as typed: qiita, whatwg, hashed-n, hashed-p, c14n, scrapy,
// safebrowsing, surt, none or purell:FLAG,FLAG. It has the newest lists unless it names others. It
// also reads what [Profile.String] returns, except for a profile with a rule file; that of a profile with version 1 of
// the lists names none, and is read by [ParseRecorded].
func ParseProfile(s string) (*Profile, error) {
	name, spec, _ := strings.Cut(s, ":")
	if name == "purell" {
		return parsePurell(spec)
	}
	p, ok := preset(name)
	if !ok {
		return nil, fmt.Errorf("cannot parse profile; got %q; want qiita, whatwg, hashed-n, hashed-p, c14n, purell:FLAG,…, scrapy, safebrowsing, surt or none", s)
	}
	return p.WithRules(spec)
}

func preset(name string) (*Profile, bool) {
	switch name {
	case "qiita":
		return Qiita(), true
	case "whatwg":
		return WHATWG(), true
	case "hashed-n":
		return HashedN(), true
	case "hashed-p":
		return HashedP(), true
	case "c14n":
		return C14N(), true
	case "scrapy":
		return Scrapy(), true
	case "safebrowsing":
		return SafeBrowsing(), true
	case "surt":
		return SURT(), true
	case "none":
		return None(), true
	}
	return nil, false
}

// bytesOf views a string as bytes without a copy. Engines only read raw, so the
// string stays immutable.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
