package declared

import "strings"

// link is one link of a Link field: what of it is looked at.
type link struct{ target, rel, anchor string }

// parseLinks parses a Link field as RFC 8288, appendix B.2, does: of a broken one it returns
// what stands before the fault. Of several "rel" and "anchor" the first counts.
func parseLinks(s string) (links []link) {
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" || s[0] != '<' {
			return links
		}
		target, rest, ok := strings.Cut(s[1:], ">")
		if !ok {
			return links
		}
		l := link{target: strings.TrimSpace(target)}
		s = l.params(rest)
		links = append(links, l)
	}
}

// params reads the parameters of a link, and returns what follows them.
func (l *link) params(s string) string {
	seen := map[string]bool{}
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != ';' {
			return s
		}
		s = strings.TrimLeft(s[1:], " \t")
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			end = len(s)
		}
		name, value := strings.ToLower(strings.TrimRight(s[:end], " \t")), ""
		if s = s[end:]; s != "" && s[0] == '=' {
			value, s = paramValue(strings.TrimLeft(s[1:], " \t"))
		}
		if seen[name] {
			continue
		}
		switch seen[name] = true; name {
		case "rel":
			l.rel = value
		case "anchor":
			l.anchor = value
		}
	}
}

// paramValue reads a token or a quoted string.
func paramValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimRight(s[:end], " \t"), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:]
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
