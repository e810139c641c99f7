package canon

import "strings"

// The four percent rules. Each is one pass from left to right over one part of a URL,
// and what a pass writes is never read again, so that nothing is decoded twice.

// escapeStrayPercent writes %25 for a "%" that begins no escape. It runs before any
// decoding: else "%%36%31" would become "%61", and "a" on the next run.
func escapeStrayPercent(s string) string {
	return mapBytes(s, '%', func(b *strings.Builder, i int) int {
		if isEscape(s, i) {
			b.WriteString(s[i : i+3])
			return 3
		}
		b.WriteString("%25")
		return 1
	})
}

func uppercaseEscapes(s string) string {
	return mapBytes(s, '%', func(b *strings.Builder, i int) int {
		if !isEscape(s, i) {
			b.WriteByte('%')
			return 1
		}
		b.WriteString(strings.ToUpper(s[i : i+3]))
		return 3
	})
}

func decodeUnreserved(s string) string {
	return mapBytes(s, '%', func(b *strings.Builder, i int) int {
		if !isEscape(s, i) {
			b.WriteByte('%')
			return 1
		}
		if c := unhex[s[i+1]]<<4 | unhex[s[i+2]]; isUnreserved[c] {
			b.WriteByte(c)
		} else {
			b.WriteString(s[i : i+3])
		}
		return 3
	})
}

// mapBytes copies s, and at each byte c calls f, which writes instead and returns how many bytes it took.
func mapBytes(s string, c byte, f func(b *strings.Builder, i int) int) string {
	i := strings.IndexByte(s, c)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		if s[i] != c {
			b.WriteByte(s[i])
			i++
			continue
		}
		i += f(&b, i)
	}
	return b.String()
}

// escapeIllegal escapes every byte but "%" that may not stand raw. Bytes that are no
// valid UTF-8 are escaped as they are: replacing them by U+FFFD would merge pages.
func escapeIllegal(s string, raw *byteSet) string {
	var b []byte
	for i := range len(s) {
		if c := s[i]; raw[c] || c == '%' {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
	}
	return string(b)
}

// unescape decodes every escape.
func unescape(s string) string {
	return mapBytes(s, '%', func(b *strings.Builder, i int) int {
		if !isEscape(s, i) {
			b.WriteByte('%')
			return 1
		}
		b.WriteByte(unhex[s[i+1]]<<4 | unhex[s[i+2]])
		return 3
	})
}
