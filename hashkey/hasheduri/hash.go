package hasheduri

import (
	"encoding/hex"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/hashedform"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

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

// AppendForm appends the text that Sum hashes.
func (h *Hasher) AppendForm(dst []byte, uri string) ([]byte, error) {
	dst, _, err := h.appendForm(dst, uri, h.KeepQuery, h.KeepFragment)
	return dst, err
}

func (h *Hasher) appendForm(dst []byte, uri string, query, fragment bool) ([]byte, hashedform.Parts, error) {
	o := hashedform.Options{Variant: h.Variant, KeepQuery: query, KeepFragment: fragment, Literal: h.Literal}
	dst, parts, err := hashedform.Append(dst, zerocopy.Bytes(uri), o)
	if err != nil {
		err = fault.As(ErrRelative, "cannot hash URI; got %q and no base; want a scheme and a colon at its start", uri[:min(len(uri), 200)])
	}
	return dst, parts, err
}
