package canon

import "errors"

// The sentinels. Every error of a canonicalization wraps exactly one of them.
var (
	// ErrURL means that the input cannot be read as a URL.
	ErrURL = errors.New("not a valid URL")
	// ErrScheme means that the input is a URL, but of a scheme the profile does not handle.
	ErrScheme = errors.New("scheme not handled")
	// ErrTooLong means that the input, or its canonical form, is longer than the profile's limit.
	ErrTooLong = errors.New("URL too long")
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
