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

// resolveDots takes "." and ".." out of a path as RFC 3986, 5.2.4, does; an empty path
// becomes "/". A ".." takes the segment before it along, an empty one too, and nothing
// at the root.
func resolveDots(path string) string {
	if path != "" && !strings.Contains(path, "/.") {
		return path
	}
	var out []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		switch {
		case s == ".." && len(out) > 0:
			out = out[:len(out)-1]
		case s != "." && s != "..":
			out = append(out, s)
			continue
		}
		if i == len(segments)-1 {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}
