package canon

import "fmt"

// DefaultMaxLength is the length in bytes beyond which a URL is refused, raw or canonical,
// unless [WithMaxLength] says otherwise: 1 MiB, far above what servers and browsers take.
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

// Enable switches rules on: any optional rule, or one of the keep-… names.
func Enable(rules ...Rule) Option {
	return func(s *settings) error { return s.switchRules(rules, true) }
}

// Disable switches rules off: any optional rule, or one of the keep-… names.
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
// one is refused with [ErrTooLong]. The default is DefaultMaxLength.
func WithMaxLength(bytes int) Option {
	return func(s *settings) error {
		if bytes < 1 || bytes > mostBytes {
			return fmt.Errorf("cannot set the longest URL; got %d bytes; want 1 to %d", bytes, mostBytes)
		}
		s.maxLength = bytes
		return nil
	}
}
