package hasheduri

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/hashedform"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// URI is a hashed URI taken apart. It is comparable, and equal URIs print alike.
type URI struct {
	Algorithm string // in lower case: "md5", "sha1" or a private name, "x-…"
	Hash      string // the digest, in lower-case hexadecimal digits
	Fragment  bool   // the hash covers a fragment: the flag +frag
	Query     bool   // the hash covers a query: the flag +query
}

// String writes the URI in lower case, its flags in the order of the grammar.
func (u URI) String() string { return string(u.Append(nil)) }

// Append appends what String returns to dst.
func (u URI) Append(dst []byte) []byte {
	dst = append(append(append(append(dst, "hashed:"...), u.Algorithm...), '='), u.Hash...)
	if u.Fragment {
		dst = append(dst, "+frag"...)
	}
	if u.Query {
		dst = append(dst, "+query"...)
	}
	return dst
}

// MarshalText writes what String returns.
func (u URI) MarshalText() ([]byte, error) { return u.Append(nil), nil }

// UnmarshalText is [Parse].
func (u *URI) UnmarshalText(text []byte) (err error) {
	*u, err = Parse(string(text))
	return err
}

// Parse reads a hashed URI (draft, section 3). Case does not matter; flags may come in any
// order and more than once. Nothing is trimmed and no escape is decoded. The error wraps
// the one [Reason] that fits; what the grammar refuses comes first.
func Parse(s string) (URI, error) {
	const scheme = "hashed:"
	if len(s) < len(scheme) || !strings.EqualFold(s[:len(scheme)], scheme) {
		return URI{}, refuse(s, "\"hashed:\" at the start", ErrScheme)
	}
	algorithm, rest, ok := strings.Cut(s[len(scheme):], "=")
	hash, flags, hasFlags := strings.Cut(rest, "+")
	switch {
	case !ok:
		return URI{}, refuse(s, "\"=\" after the algorithm", ErrNoEquals)
	case algorithm == "":
		return URI{}, refuse(s, "the name of an algorithm", ErrEmptyAlgorithm)
	case !isName(algorithm):
		return URI{}, refuse(s, "an algorithm of letters, digits, \"-\" and \".\"", ErrBadAlgorithm)
	case hash == "":
		return URI{}, refuse(s, "a hash after \"=\"", ErrEmptyHash)
	case !isHex(hash):
		return URI{}, refuse(s, "hexadecimal digits, up to a flag or the end", ErrBadHex)
	}
	u := URI{Algorithm: strings.ToLower(algorithm), Hash: strings.ToLower(hash)}
	if hasFlags {
		for flag := range strings.SplitSeq(flags, "+") {
			if !u.setFlag(strings.ToLower(flag)) {
				return URI{}, refuse(s, "no flags but +frag and +query", ErrUnknownFlag)
			}
		}
	}
	if err := u.checkAlgorithm(s); err != nil {
		return URI{}, err
	}
	return u, nil
}

func (u *URI) setFlag(flag string) bool {
	switch flag {
	case "frag":
		u.Fragment = true
	case "query":
		u.Query = true
	default:
		return false
	}
	return true
}

// checkAlgorithm wants a registered name with as many digits as it makes, or a private
// one with any.
func (u URI) checkAlgorithm(s string) error {
	var want int
	switch {
	case u.Algorithm == "md5":
		want = 32
	case u.Algorithm == "sha1":
		want = 40
	case !strings.HasPrefix(u.Algorithm, "x-"):
		return refuse(s, "md5, sha1 or a private name, \"x-…\"", ErrUnregistered)
	default:
		return nil
	}
	if len(u.Hash) != want {
		return refuse(s, fmt.Sprintf("a hash of %d digits", want), ErrHashLength)
	}
	return nil
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '-' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// Variant is how far a URI is made canonical before it is hashed (draft, Appendix A). The
// hashed URI does not record it, so both sides must agree on it.
type Variant = hashedform.Variant

// The variants.
const (
	None = hashedform.Basic // only the scheme is lower-cased
	N    = hashedform.N     // normalizing steps, and index pages removed from http URIs
	P    = hashedform.P     // also steps for usual servers: lower case, no "//", short file name endings
)

// Hasher makes and matches hashed URIs. The zero value is ready for use. A Hasher is safe for
// concurrent use.
type Hasher struct {
	// Algorithm is the hash of Sum. The default is "sha1".
	Algorithm string
	// Variant is how far URIs are made canonical. The default is None.
	Variant Variant
	// KeepQuery makes Sum cover the query, where there is one. The default is to drop it.
	KeepQuery bool
	// KeepFragment makes Sum cover the fragment, where there is one. The default is to drop it.
	KeepFragment bool
	// Literal keeps escapes of letters, digits and other unreserved characters, as the steps of
	// the draft do. The default is to decode them in N and P, as the draft's example does.
	Literal bool
	// Algorithms are private algorithms. The default is none.
	Algorithms Algorithms
}

// Sum hashes a URI (draft, section 4). The flags show what the hash covers: a query or
// fragment that was to be kept, and is there. It fails with [ErrRelative] for a relative
// reference, which canon.Base makes absolute, and with [ErrUnknownAlgorithm].
func (h *Hasher) Sum(uri string) (URI, error) {
	algorithm := h.Algorithm
	if algorithm == "" {
		algorithm = "sha1"
	}
	var text, sum [256]byte
	form, parts, err := h.appendForm(text[:0], uri, h.KeepQuery, h.KeepFragment)
	if err != nil {
		return URI{}, err
	}
	digest, err := h.Algorithms.appendDigest(sum[:0], algorithm, form)
	if err != nil {
		return URI{}, err
	}
	return URI{Algorithm: algorithm, Hash: hex.EncodeToString(digest), Fragment: parts.Fragment, Query: parts.Query}, nil
}

// Match reports whether a candidate is the URI of u, or has the same canonical form. It
// takes the algorithm and what to keep from u, the variant and the rest from h. It fails
// as Sum does.
func (h *Hasher) Match(u URI, candidate string) (bool, error) {
	var text, sum [256]byte
	form, _, err := h.appendForm(text[:0], candidate, u.Query, u.Fragment)
	if err != nil {
		return false, err
	}
	digest, err := h.Algorithms.appendDigest(sum[:0], u.Algorithm, form)
	if err != nil {
		return false, err
	}
	return hex.EncodeToString(digest) == u.Hash, nil
}

func (h *Hasher) appendForm(dst []byte, uri string, query, fragment bool) ([]byte, hashedform.Parts, error) {
	o := hashedform.Options{Variant: h.Variant, KeepQuery: query, KeepFragment: fragment, Literal: h.Literal}
	dst, parts, err := hashedform.Append(dst, zerocopy.Bytes(uri), o)
	if err != nil {
		err = fault.As(ErrRelative, "cannot hash URI; got %q and no base; want a scheme and a colon at its start", uri[:min(len(uri), 200)])
	}
	return dst, parts, err
}

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
