package canon

// An Option changes the rules of a profile; see [Profile.With].
type Option func(*settings) error

// settings is what the options of a profile add up to.
type settings struct{}

// Enable switches rules on.
func Enable(rules ...Rule) Option { return func(*settings) error { return nil } }

// Disable switches rules off.
func Disable(rules ...Rule) Option { return func(*settings) error { return nil } }
