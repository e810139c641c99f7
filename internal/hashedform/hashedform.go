// Package hashedform writes the text of a URI that draft-feather-hashed-uri-03 hashes. It is what package
// hasheduri hashes, and the canonical form of the profiles hashed-n and hashed-p of package canon. The steps named
// here are those of the draft's Appendix A.
package hashedform

import (
	"bytes"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// Variant is how much of Appendix A is applied.
type Variant uint8

const (
	// Basic lower-cases the scheme and nothing else (draft, section 4.3).
	Basic Variant = iota
	// N applies the steps that keep what a URI names, by the standards.
	N
	// P folds in addition what servers usually treat alike: case, empty
	// path segments and file name endings. It can merge different pages.
	P
)

// Options select the form that [Append] writes. The zero value is the
// basic form without query and fragment.
type Options struct {
	// Variant is the set of steps to apply. The default is Basic.
	Variant Variant
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

// Parts reports which optional parts of a URI are in its canonical form, and so
// which flags its hashed URI has.
type Parts struct{ Query, Fragment bool }

// Append appends to dst the form of raw that draft-feather-hashed-uri-03 hashes,
// and reports whether a query and a fragment are in it. An empty query or fragment is
// absent in the variants N and P, and present in the basic form.
//
// The one possible error is that raw has no scheme: the draft hashes absolute URIs only.
// It wraps [whatwg.ErrURL], and dst is returned unchanged. Any other bytes have a form, for
// nothing is validated, trimmed or encoded. Only ASCII letters are lower-cased.
func Append(dst, raw []byte, o Options) ([]byte, Parts, error) {
	n := whatwg.SchemeLen(raw)
	if n < 0 {
		return dst, Parts{}, fault.As(whatwg.ErrURL, "cannot canonicalize for hashing; got relative reference %s; want a scheme and a colon at its start", whatwg.Quote(string(raw)))
	}
	start := len(dst)
	dst = append(dst, raw[:n+1]...)
	whatwg.LowerBytes(dst[start:])
	scheme := string(dst[start : start+n])
	u := cut(raw[n+1:])
	if o.Variant == Basic || u.opaque {
		dst = append(dst, u.hier...)
	} else {
		dst = appendHier(dst, u.hier, scheme, o)
	}
	dst, parts := u.appendParts(dst, o)
	return dst, parts, nil
}

// uri is what follows the scheme, cut as RFC 2396 cuts it.
type uri struct {
	hier     []byte // all before query and fragment
	query    []byte // with its "?"; nil if there is none
	fragment []byte // with its "#"; nil if there is none
	opaque   bool   // hier does not begin with "/", so has no authority, path or query
}

func cut(rest []byte) uri {
	u := uri{hier: rest, opaque: len(rest) == 0 || rest[0] != '/'}
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
func (u uri) appendParts(dst []byte, o Options) ([]byte, Parts) {
	least := 2 // a lone "?" or "#" is dropped
	if o.Variant == Basic {
		least = 1
	}
	var parts Parts
	if parts.Query = o.KeepQuery && len(u.query) >= least; parts.Query {
		dst = u.appendPart(dst, u.query, o)
	}
	if parts.Fragment = o.KeepFragment && len(u.fragment) >= least; parts.Fragment {
		dst = u.appendPart(dst, u.fragment, o)
	}
	return dst, parts
}

func (u uri) appendPart(dst, part []byte, o Options) []byte {
	if u.opaque || o.Variant == Basic {
		return append(dst, part...)
	}
	start := len(dst)
	dst = appendText(dst, part, o)
	if o.Variant == P {
		whatwg.LowerBytes(dst[start:])
	}
	return dst
}

// appendText appends text with its escaped unreserved characters decoded,
// as the draft's example of "a%62c" does.
func appendText(dst, text []byte, o Options) []byte {
	if o.Literal {
		return append(dst, text...)
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if whatwg.IsEscape(text, i) {
			if d := whatwg.Escaped(text, i); whatwg.IsUnreserved[d] {
				c, i = d, i+2
			}
		}
		dst = append(dst, c)
	}
	return dst
}

// defaultPortOf is the default port of the schemes whose authority is known to be
// user, host and port; "" for any other scheme.
func defaultPortOf(scheme string) string {
	switch scheme {
	case "gopher":
		return "70"
	case "telnet":
		return "23"
	case "nntp":
		return "119"
	case "ldap":
		return "389"
	case "rtsp":
		return "554"
	}
	return whatwg.DefaultPort(scheme)
}

// appendAuthority appends an authority after steps 1 to 5: an empty user goes,
// the host is lower-cased, zeros that lead a number go, and so does the default port.
// The authority of a scheme that is not known stays as it is.
func appendAuthority(dst, authority []byte, scheme string) []byte {
	defaultPort := defaultPortOf(scheme)
	if defaultPort == "" {
		return append(dst, authority...)
	}
	if i := bytes.LastIndexByte(authority, '@'); i >= 0 {
		if i > 0 {
			dst = append(dst, authority[:i+1]...)
		}
		authority = authority[i+1:]
	}
	host, port := string(authority), ""
	if i := bytes.LastIndexByte(authority, ':'); i >= 0 && isNumber(host[i+1:]) {
		host, port = host[:i], trimZeros(host[i+1:]) // the default port is compared as a number
	}
	dst = append(dst, canonicalHost(host)...)
	if port != "" && port != defaultPort {
		dst = append(append(dst, ':'), port...)
	}
	return dst
}

// canonicalHost writes a host. RFC 2396 knew no "::" to bring the groups of an IPv6 literal to one form, so none is made.
func canonicalHost(host string) string {
	inner, closed := strings.CutSuffix(host, "]")
	if !closed || host[0] != '[' {
		return canonicalGroup(host)
	}
	groups := strings.Split(inner[1:], ":")
	for i, group := range groups {
		groups[i] = canonicalGroup(trimZeros(group))
	}
	return "[" + strings.Join(groups, ":") + "]"
}

// canonicalGroup writes a host name in lower case, or an IPv4 address, which is exactly
// four groups of decimal digits of any size, without the zeros that lead its groups.
func canonicalGroup(s string) string {
	groups := strings.Split(s, ".")
	if len(groups) != 4 || slices.Contains(groups, "") || !isNumber(strings.Join(groups, "")) {
		return whatwg.LowerText(s)
	}
	for i, group := range groups {
		groups[i] = trimZeros(group)
	}
	return strings.Join(groups, ".")
}

// trimZeros drops the zeros that lead s and keeps one byte of it.
func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}

// isNumber reports whether all bytes of a text, which may be empty, are digits.
func isNumber(s string) bool { return strings.Trim(s, whatwg.Digits) == "" }

// appendHier appends authority and path of a hierarchical URI, in variant N or P.
// An authority that is empty, or has become so, loses its slashes (step 9 taken literally):
// "file:///etc" is "file:/etc".
func appendHier(dst, hier []byte, scheme string, o Options) []byte {
	start := len(dst)
	text := appendText(nil, hier, o) // no escape of "/" is decoded, so one pass does for all
	path := text
	if bytes.HasPrefix(text, []byte("//")) {
		authority := text[2:]
		path = nil
		if i := bytes.IndexByte(authority, '/'); i >= 0 {
			authority, path = authority[:i], authority[i:]
		}
		mark := len(dst)
		dst = append(dst, "//"...)
		if dst = appendAuthority(dst, authority, scheme); len(dst) == mark+2 {
			dst = dst[:mark]
		}
	}
	if o.Variant == N {
		return appendWithoutIndex(dst, path, scheme)
	}
	dst = appendPathP(dst, path, scheme)
	whatwg.LowerBytes(dst[start:])
	return dst
}

// appendPathP appends a path without its empty segments (step 6), its last name
// with a short ending (step 7) and without the name of an index page (step 8). All empty
// segments go, the last too, yet step 8 leaves one: "/test/" becomes "/test", and
// "/test/index.html" becomes "/test/". The draft's examples want it so; by that, the
// form of a form in variant P can be another one.
func appendPathP(dst, path []byte, scheme string) []byte {
	var squeezed []byte
	last := 0
	for segment := range bytes.SplitSeq(path, []byte("/")) {
		if len(segment) > 0 {
			last = len(squeezed)
			squeezed = append(append(squeezed, '/'), segment...)
		}
	}
	whatwg.LowerBytes(squeezed)
	name := shortEnding(string(squeezed[last:]))
	return appendWithoutIndex(dst, append(squeezed[:last], name...), scheme)
}

// shortEnding replaces a long file name ending by its short twin (step 7), once.
func shortEnding(name string) string {
	for _, e := range [...][2]string{{".html", ".htm"}, {".jpeg", ".jpg"}, {".text", ".txt"}, {".ram", ".ra"}} {
		if stem, ok := strings.CutSuffix(name, e[0]); ok {
			return stem + e[1]
		}
	}
	return name
}

// appendWithoutIndex appends a path; an index page's name at its end becomes empty (step 8).
// The step names the scheme http alone.
func appendWithoutIndex(dst, path []byte, scheme string) []byte {
	i := bytes.LastIndexByte(path, '/')
	if name := string(path[i+1:]); scheme == "http" && (name == "index.html" || name == "index.htm") {
		path = path[:i+1]
	}
	return append(dst, path...)
}
