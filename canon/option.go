package canon

import "fmt"

// DefaultMaxLength is the default of [WithMaxLength]: 1 MiB, far above what servers and browsers
// accept.
const DefaultMaxLength = 1 << 20

// mostBytes keeps all offsets in a form, three times as long as its URL, below 32 bits.
const mostBytes = 1 << 30

// An Option changes a profile; see [Profile.With]. Options apply in the order given.
type Option func(*settings) error

// settings is what the options of a profile add up to.
type settings struct {
	on        ruleSet
	params    *paramRules
	sites     *siteRules
	maxLength int
}

// Enable switches optional rules on. KeepFragment, KeepDuplicateSlashes, KeepBareParams and
// KeepParamOrder are names for the opposite of a rule: to enable one switches that rule off.
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
