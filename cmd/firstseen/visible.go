package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible is a text as a terminal can show it: control characters, those that change the
// direction of text, and bytes that are not UTF-8 are escaped.
func visible(s string) string {
	if strings.IndexFunc(s, isHidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && isHidden(r):
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case isHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func isHidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
