package canon

import "strings"

// What SafeBrowsing shares with SURT, the escaping, and with Scrapy, the dot segments.

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
		for n := len(b); n >= 3 && isEscape(b, n-3); n = len(b) {
			c := unhex[b[n-2]]<<4 | unhex[b[n-1]]
			b = append(b[:n-3], c)
		}
	}
	return string(b)
}

// escapeMinimal appends s with controls, blanks, "#", "%" and all above ASCII escaped.
func escapeMinimal(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '%' {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// resolveDots removes dot segments as RFC 3986, 5.2.4, does. An empty path becomes "/", as
// does one that has dot segments and lacks the slash at its beginning.
func resolveDots(path string) string {
	if path != "" && !strings.Contains(path, "/.") {
		return path
	}
	return withoutDots("/" + strings.TrimPrefix(path, "/"))
}
