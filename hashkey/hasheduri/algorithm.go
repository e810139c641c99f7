package hasheduri

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"hash"
	"maps"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// Algorithms are private hash algorithms by name. The zero value has none; md5, sha1 and
// x-sha256 are known without it. It does not change, so it may be shared.
type Algorithms struct{ private map[string]func() hash.Hash }

// With returns the algorithms and one more under a private name, which must begin with
// "x-" (draft, section 3) and is kept in lower case. It fails with [ErrBadAlgorithm] for
// another name, and for one that is taken.
func (a Algorithms) With(name string, newHash func() hash.Hash) (Algorithms, error) {
	name = strings.ToLower(name)
	_, taken := a.private[name]
	if !isName(name) || !strings.HasPrefix(name, "x-") || name == "x-" || name == "x-sha256" || taken {
		return a, fault.As(ErrBadAlgorithm, "cannot register algorithm; got %q; want \"x-\" and letters, digits, \"-\" and \".\", a new name", name)
	}
	private := maps.Clone(a.private)
	if private == nil {
		private = map[string]func() hash.Hash{}
	}
	private[name] = newHash
	return Algorithms{private}, nil
}

// appendDigest appends the digest of data to dst. It does not allocate for the
// algorithms built in if dst has room.
func (a Algorithms) appendDigest(dst []byte, algorithm string, data []byte) ([]byte, error) {
	switch algorithm {
	case "md5":
		sum := md5.Sum(data)
		return append(dst, sum[:]...), nil
	case "sha1":
		sum := sha1.Sum(data)
		return append(dst, sum[:]...), nil
	case "x-sha256":
		sum := sha256.Sum256(data)
		return append(dst, sum[:]...), nil
	}
	newHash, ok := a.private[algorithm]
	if !ok {
		return dst, fault.As(ErrUnknownAlgorithm, "cannot hash; got algorithm %q; want md5, sha1, x-sha256 or one that was given", algorithm)
	}
	h := newHash()
	h.Write(data)
	return h.Sum(dst), nil
}
