package canon

import (
	"bytes"
	"strings"
)

// appendHashedHier appends authority and path of a hierarchical URI, in variant N or P.
// An authority that is empty, or has become so, loses its slashes (step 9 taken literally):
// "file:///etc" is "file:/etc".
func appendHashedHier(dst, hier []byte, scheme string, o HashedOptions) []byte {
	start := len(dst)
	text := appendHashedText(nil, hier, o) // no escape of "/" is decoded, so one pass does for all
	path := text
	if bytes.HasPrefix(text, []byte("//")) {
		authority := text[2:]
		path = nil
		if i := bytes.IndexByte(authority, '/'); i >= 0 {
			authority, path = authority[:i], authority[i:]
		}
		mark := len(dst)
		dst = append(dst, "//"...)
		if dst = appendHashedAuthority(dst, authority, scheme); len(dst) == mark+2 {
			dst = dst[:mark]
		}
	}
	if o.Variant == HashedVariantN {
		return appendWithoutIndex(dst, path, scheme)
	}
	dst = appendHashedPathP(dst, path, scheme)
	lowerASCII(dst[start:])
	return dst
}

// appendHashedPathP appends a path without its empty segments (step 6), its last name
// with a short ending (step 7) and without the name of an index page (step 8). All empty
// segments go, the last too, yet step 8 leaves one: "/test/" becomes "/test", and
// "/test/index.html" becomes "/test/". The draft's examples want it so; by that, the
// form of a form in variant P can be another one.
func appendHashedPathP(dst, path []byte, scheme string) []byte {
	var squeezed []byte
	last := 0
	for segment := range bytes.SplitSeq(path, []byte("/")) {
		if len(segment) > 0 {
			last = len(squeezed)
			squeezed = append(append(squeezed, '/'), segment...)
		}
	}
	lowerASCII(squeezed)
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
