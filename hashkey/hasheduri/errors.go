package hasheduri

import (
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// A Reason says why something was refused: the short, stable code for reports. Every
// error of this package wraps exactly one, but for those of reading a list.
type Reason string

// What is wrong with the text of a hashed URI.
const (
	ErrScheme         Reason = "scheme"                 // does not begin with "hashed:"
	ErrNoEquals       Reason = "no-equals"              // has no "="
	ErrEmptyAlgorithm Reason = "empty-algorithm"        // nothing before "="
	ErrBadAlgorithm   Reason = "bad-algorithm"          // something else than letters, digits, "-" and "." there
	ErrEmptyHash      Reason = "empty-hash"             // nothing after "="
	ErrBadHex         Reason = "bad-hex"                // something else than hexadecimal digits there
	ErrUnknownFlag    Reason = "unknown-flag"           // a flag other than +frag and +query
	ErrUnregistered   Reason = "unregistered-algorithm" // neither md5 nor sha1 nor private
	ErrHashLength     Reason = "hash-length"            // too few or too many digits for the algorithm
)

// Reasons for which a URI cannot be hashed or compared.
const (
	ErrRelative         Reason = "relative"          // a relative reference, and no base
	ErrUnknownAlgorithm Reason = "unknown-algorithm" // a private name that is not in Algorithms
)

// Error returns the reason as a sentence would.
func (r Reason) Error() string { return "hashed URI: " + strings.ReplaceAll(string(r), "-", " ") }

func refuse(s, want string, reason Reason) error {
	const most = 200
	return fault.As(reason, "cannot parse hashed URI; got %q; want %s", s[:min(len(s), most)], want)
}

// Code returns the reason itself, for reports.
func (r Reason) Code() string { return string(r) }
