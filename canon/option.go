package canon

import "fmt"

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
