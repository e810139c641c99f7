package canon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/canon/internal/foreign"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// The sentinels. Every error of a canonicalization wraps exactly one of them.
var (
	// ErrURL means that the input cannot be read as a URL.
	ErrURL = whatwg.ErrURL
	// ErrScheme means that the input is a URL, but of a scheme the profile does not handle.
	ErrScheme = whatwg.ErrScheme
	// ErrTooLong means that the input, or its canonical form, is longer than the profile's limit.
	ErrTooLong = whatwg.ErrTooLong
)

// Code returns the short, stable name of a canonicalization error, for reports and
// machine-readable output: "url", "scheme" or "too-long", and "" for nil.
// An error this package did not make counts as "url".
func Code(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrScheme):
		return "scheme"
	case errors.Is(err, ErrTooLong):
		return "too-long"
	default:
		return "url"
	}
}

// A Profile is one way of writing URLs canonically: a named, versioned list of rules.
// It is immutable; derive another one with [Profile.With]. A Profile is safe
// for concurrent use. Use it as *Profile, from one of the constructors.
type Profile struct {
	name    string
	version int
	spec    string // what follows "name:" in String; "" for a preset
	rules   []RuleInfo

	// One of the two: rules that can be switched, or the form of another tool as a function. The function only
	// reads the text, which may be a view of the caller's bytes, and keeps no part of it.
	qiita *qiita
	form  func(raw string) (string, error)

	purell []foreign.PurellStep // of the profile purell, for Explain
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

// Fetchable reports whether canonical forms are URLs that can be fetched in place of what they stand for. Those of
// none, surt, safebrowsing, hashed-n and hashed-p are texts to compare: they lose the query, the scheme or the port.
func (p *Profile) Fetchable() bool {
	switch p.name {
	case "none", "surt", "safebrowsing", "hashed-n", "hashed-p":
		return false
	}
	return true
}

// AppendCanonical appends the canonical form of raw to dst and returns the longer slice.
// On error dst is returned unchanged; the error wraps [ErrURL], [ErrScheme] or [ErrTooLong].
// raw is neither kept nor changed, and must not overlap the spare capacity of dst.
func (p *Profile) AppendCanonical(dst, raw []byte) ([]byte, error) {
	if p.qiita != nil {
		return p.qiita.appendCanonical(dst, raw)
	}
	form, err := p.form(zerocopy.String(raw))
	if err != nil {
		return dst, err
	}
	return append(dst, form...), nil
}

// Canonicalize returns the canonical form of raw: raw itself, or a part of it, when
// nothing else changes. Errors are those of [Profile.AppendCanonical].
func (p *Profile) Canonicalize(raw string) (string, error) {
	if p.qiita != nil {
		return p.qiita.canonicalize(raw)
	}
	return p.form(raw)
}

// A Step is the effect of one rule on a URL: the whole URL before and after it.
type Step struct {
	Rule          Rule
	Before, After string
	// Scope is the entry of a rule file by which the rule holds here, its host and
	// path: "example.com/wiki". Empty for a rule that holds everywhere.
	Scope string
}

// An Explanation is how a URL came to its canonical form: the rules that changed
// something, in order. An input that was canonical already has no steps.
type Explanation struct {
	Input, Canonical string
	Steps            []Step
	// Sites are the entries for sites of a rule file that hold for this URL, in descending order
	// of precedence: "example.com/wiki +strip-www,-collapse-slashes".
	Sites []string
}

// Explain canonicalizes raw and lists what each rule changed. Errors are those of
// [Profile.AppendCanonical]; the steps up to the error are returned with it.
// It is meant for people: it costs many times what Canonicalize does.
func (p *Profile) Explain(raw string) (Explanation, error) {
	e := Explanation{Input: raw}
	var err error
	if p.qiita != nil {
		if e.Steps, err = p.qiita.steps(raw); err == nil {
			e.Sites = p.qiita.sitesOf(raw)
		}
	} else {
		e.Steps, err = p.fixedSteps(raw)
	}
	if err != nil {
		return e, err
	}
	e.Canonical = raw
	if n := len(e.Steps); n > 0 {
		e.Canonical = e.Steps[n-1].After
	}
	return e, nil
}

// fixedSteps returns one step that has the name of the profile; for purell, one for each flag. A host may be one
// that purell refuses until a later flag lower-cases it: its last step decides.
func (p *Profile) fixedSteps(raw string) (steps []Step, err error) {
	forms := p.purell
	if forms == nil {
		forms = []foreign.PurellStep{{Name: p.name, Form: p.form}}
	}
	before := raw
	for _, f := range forms {
		var after string
		if after, err = f.Form(raw); err == nil && after != before {
			steps = append(steps, Step{Rule: Rule(f.Name), Before: before, After: after})
			before = after
		}
	}
	return steps, err
}

// With derives a profile by options. Only qiita has rules to switch; for the others any
// option is an error, and so is a rule name that does not exist.
func (p *Profile) With(opts ...Option) (*Profile, error) {
	if len(opts) == 0 {
		return p, nil
	}
	if p.qiita == nil {
		return nil, fmt.Errorf("cannot derive from profile %s: its rules are fixed; rules and rule files work only with qiita", p)
	}
	s := p.qiita.settings
	for _, o := range opts {
		if err := o(&s); err != nil {
			return nil, fmt.Errorf("cannot derive from profile %s: %w", p, err)
		}
	}
	return newQiita(s), nil
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
	q := p.qiita
	if q == nil || q.pinned || !q.usesLists() {
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
// safebrowsing, surt, none or purell:FLAG,FLAG. Rules are changed after a colon: "qiita:+strip-www,-collapse-slashes"
// is Qiita with one more and one less ([Profile.WithRules]). It has the newest lists unless it names others. It
// also reads what [Profile.String] returns, except for a profile with a rule file; that of a profile with version 1 of
// the lists names none, and is read by [ParseRecorded].
func ParseProfile(s string) (*Profile, error) {
	name, spec, _ := strings.Cut(s, ":")
	if name == "purell" {
		return Purell(spec)
	}
	for _, p := range presets {
		if p.name == name {
			return p.WithRules(spec)
		}
	}
	return nil, fmt.Errorf("cannot parse profile; got %q; want qiita, whatwg, hashed-n, hashed-p, c14n, purell:FLAG,…, scrapy, safebrowsing, surt or none; "+
		"rules are changed after a colon, as in qiita:+strip-www,-collapse-slashes", s)
}

// presets are the profiles that have a name of their own.
var presets = []*Profile{Qiita(), WHATWG(), HashedN(), HashedP(), C14N(), Scrapy(), SafeBrowsing(), SURT(), None()}

// DefaultMaxLength is the default of [WithMaxLength]: 1 MiB, far above what servers and browsers
// accept.
const DefaultMaxLength = 1 << 20

// mostBytes keeps all offsets in a form, three times as long as its URL, below 32 bits.
const mostBytes = 1 << 30

// listRules are the rules that have a list.
var listRules = setOfRules([]ruleID{rStripTrackingParams, rStripSessionIDs, rStripIndex})

// usesLists reports whether a rule with a list is on, for all sites or for some.
func (s *settings) usesLists() bool {
	return s.on&listRules != 0 || s.sites != nil && s.sites.on&listRules != 0
}

// An Option changes a profile; see [Profile.With]. Options apply in the order given.
type Option func(*settings) error

// settings is what the options of a profile add up to.
type settings struct {
	on        ruleSet
	params    *paramRules
	sites     *siteRules
	maxLength int
	lists     *lists
	pinned    bool // the lists were chosen, and don't give way to those of a store
}

// Enable switches optional rules on. KeepFragment, KeepDuplicateSlashes, KeepBareParams,
// KeepParamOrder and KeepValueOrder are names for the opposite of a rule: to enable one switches that rule off.
func Enable(rules ...Rule) Option {
	return func(s *settings) error { return s.switchRules(rules, true) }
}

// Disable switches optional rules off; see [Enable].
func Disable(rules ...Rule) Option {
	return func(s *settings) error { return s.switchRules(rules, false) }
}

func (s *settings) switchRules(names []Rule, on bool) (err error) {
	for _, r := range names {
		if s.on, err = s.on.switchRule(r, on); err != nil {
			return err
		}
	}
	return nil
}

// WithLists chooses a version of the lists of [StripTrackingParams], [StripSessionIDs] and
// [StripIndex], from 1. The default is the newest version.
func WithLists(version int) Option {
	return func(s *settings) error {
		if version < 1 || version > newestLists {
			return fmt.Errorf("cannot choose lists; got version %d; want 1 to %d", version, newestLists)
		}
		s.lists, s.pinned = versions[version], true
		return nil
	}
}

// WithMaxLength sets the maximum length of a URL in bytes, raw or canonical. A longer
// one is refused with [ErrTooLong]. bytes must be 1 to 1<<30. The default is DefaultMaxLength.
func WithMaxLength(bytes int) Option {
	return func(s *settings) error {
		if bytes < 1 || bytes > mostBytes {
			return fmt.Errorf("cannot set the longest URL; got %d bytes; want 1 to %d", bytes, mostBytes)
		}
		s.maxLength = bytes
		return nil
	}
}
