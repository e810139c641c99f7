package hasheduri

import (
	"fmt"
	"strings"
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
