// Package fault makes errors that say what failed in one sentence, and that callers can still
// recognise with errors.Is. With fmt.Errorf("…: %w", store.ErrInvalid), users would read
// "the argument is invalid" after a sentence that says it better.
package fault

import "fmt"

// As returns an error with the text of fmt.Errorf(format, args...) for which errors.Is(err, kind)
// is true. Its text does not contain that of kind. The format may have %w.
func As(kind error, format string, args ...any) error {
	return &fault{kind, fmt.Errorf(format, args...)}
}

type fault struct{ kind, text error }

func (f *fault) Error() string { return f.text.Error() }

func (f *fault) Unwrap() []error { return []error{f.kind, f.text} }
