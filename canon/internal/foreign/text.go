// Package foreign writes the canonical forms of other programs: each function is what package canon calls a
// profile, whose doc comment there says what it reproduces, in which it differs, and which errors come back.
//
// What two of them do alike is here and, for the two that follow CPython, in python.go and idna2003.go. How the URL
// Standard cuts and escapes is in package whatwg.
package foreign

import (
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// isNumber reports whether all bytes of a text, which may be empty, are digits.
func isNumber(s string) bool { return strings.Trim(s, whatwg.Digits) == "" }

// unescapeFully decodes escapes until none is left. Each byte is looked at once: a byte
// that completes an escape replaces it, and may itself complete the next one. Escapes
// cannot overlap, so the order in which they are decoded makes no difference.
func unescapeFully(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		b = append(b, s[i])
		for n := len(b); n >= 3 && whatwg.IsEscape(b, n-3); n = len(b) {
			b = append(b[:n-3], whatwg.Escaped(b, n-3))
		}
	}
	return string(b)
}

// escapeMinimal escapes controls, blanks, "#", "%" and all above ASCII.
func escapeMinimal(s string) string { return whatwg.Escape(s, minimalRaw) }

var minimalRaw = func() *whatwg.Set {
	var s whatwg.Set
	for c := '!'; c <= '~'; c++ {
		s[c] = c != '#' && c != '%'
	}
	return &s
}()

// resolveDots removes dot segments as RFC 3986, 5.2.4, does. An empty path becomes "/", as
// does one that has dot segments and lacks the slash at its beginning.
func resolveDots(path string) string {
	if path != "" && !strings.Contains(path, "/.") {
		return path
	}
	return whatwg.WithoutDots("/" + strings.TrimPrefix(path, "/"))
}

// collapseRuns writes one c for each run of them.
func collapseRuns(s, c string) string {
	for strings.Contains(s, c+c) {
		s = strings.ReplaceAll(s, c+c, c)
	}
	return s
}
