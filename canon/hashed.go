package canon

import (
	"bytes"
	"fmt"
)

// HashedVariant says how much of Appendix A of the Hashed URI draft is applied.
type HashedVariant uint8

const (
	// HashedBasic lower-cases the scheme and nothing else (draft, section 4.3).
	HashedBasic HashedVariant = iota
	// HashedVariantN applies the steps that keep what a URI names, by the standards.
	HashedVariantN
	// HashedVariantP folds in addition what servers usually treat alike: case, empty
	// path segments and file name endings. Distinct pages can meet in it.
	HashedVariantP
)

// HashedOptions select the form that [AppendHashed] writes. The zero value is the
// basic form without query and fragment.
type HashedOptions struct {
	// Variant is the set of steps to apply. The default is HashedBasic.
	Variant HashedVariant
	// KeepQuery keeps the query of a hierarchical URI, the draft's flag +query.
	// The default is false.
	KeepQuery bool
	// KeepFragment keeps the fragment, the draft's flag +frag. The default is false.
	KeepFragment bool
	// Literal leaves escapes of unreserved characters alone, as the draft's text says
	// to the letter; the draft's own example decodes them. The basic form never does.
	// The default is false.
	Literal bool
}

// HashedParts tells which optional parts of a URI are in its canonical form,
// and so which flags its hashed URI carries.
type HashedParts struct{ Query, Fragment bool }

// AppendHashed appends to dst the form of raw that draft-feather-hashed-uri-03 hashes,
// and tells whether a query and a fragment are in it. An empty query or fragment is
// absent in the variants N and P, and present in the basic form.
//
// The one possible error is that raw has no scheme: the draft hashes absolute URIs only.
// It wraps [ErrURL], and dst is returned unchanged. Any other bytes have a form, for
// nothing is validated, trimmed or encoded. Only ASCII letters are lower-cased.
// The steps named in this package's comments are those of Appendix A.
func AppendHashed(dst, raw []byte, o HashedOptions) ([]byte, HashedParts, error) {
	n := schemeLen(string(raw))
	if n < 0 {
		return dst, HashedParts{}, fmt.Errorf("cannot canonicalize for hashing; got relative reference %s; want a scheme and a colon at its start: %w", quote(string(raw)), ErrURL)
	}
	start := len(dst)
	dst = append(dst, raw[:n+1]...)
	lowerASCII(dst[start:])
	scheme := string(dst[start : start+n])
	u := cutHashed(raw[n+1:])
	if o.Variant == HashedBasic || u.opaque {
		dst = append(dst, u.hier...)
	} else {
		dst = appendHashedHier(dst, u.hier, scheme, o)
	}
	dst, parts := u.appendParts(dst, o)
	return dst, parts, nil
}

// hashedURI is what follows the scheme, cut as RFC 2396 cuts it.
type hashedURI struct {
	hier     []byte // all before query and fragment
	query    []byte // with its "?"; nil if there is none
	fragment []byte // with its "#"; nil if there is none
	opaque   bool   // hier does not begin with "/", so has no authority, path or query
}

func cutHashed(rest []byte) hashedURI {
	u := hashedURI{hier: rest, opaque: len(rest) == 0 || rest[0] != '/'}
	if i := bytes.IndexByte(u.hier, '#'); i >= 0 {
		u.hier, u.fragment = u.hier[:i], u.hier[i:]
	}
	if u.opaque {
		return u
	}
	if i := bytes.IndexByte(u.hier, '?'); i >= 0 {
		u.hier, u.query = u.hier[:i], u.hier[i:]
	}
	return u
}

// appendParts appends the parts to keep. The draft's recomposition, step 9, forgets
// them; they go where they were.
func (u hashedURI) appendParts(dst []byte, o HashedOptions) ([]byte, HashedParts) {
	least := 2 // a lone "?" or "#" is dropped
	if o.Variant == HashedBasic {
		least = 1
	}
	var parts HashedParts
	if parts.Query = o.KeepQuery && len(u.query) >= least; parts.Query {
		dst = u.appendPart(dst, u.query, o)
	}
	if parts.Fragment = o.KeepFragment && len(u.fragment) >= least; parts.Fragment {
		dst = u.appendPart(dst, u.fragment, o)
	}
	return dst, parts
}

func (u hashedURI) appendPart(dst, part []byte, o HashedOptions) []byte {
	if u.opaque || o.Variant == HashedBasic {
		return append(dst, part...)
	}
	start := len(dst)
	dst = appendHashedText(dst, part, o)
	if o.Variant == HashedVariantP {
		lowerASCII(dst[start:])
	}
	return dst
}

// appendHashedText appends text with its escaped unreserved characters decoded,
// as the draft's example of "a%62c" does.
func appendHashedText(dst, text []byte, o HashedOptions) []byte {
	if o.Literal {
		return append(dst, text...)
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if isEscape(text, i) {
			if d := unhex[text[i+1]]<<4 | unhex[text[i+2]]; isUnreserved[d] {
				c, i = d, i+2
			}
		}
		dst = append(dst, c)
	}
	return dst
}

func lowerASCII(b []byte) {
	for i, c := range b {
		b[i] = lower(c)
	}
}
