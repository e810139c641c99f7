package canon

import (
	"cmp"
	"slices"
	"strings"
)

// cutParams cuts off the parameters of the last segment, with their ";", in the schemes
// that had them in RFC 2396. They take no part in the decoding of the path.
func cutParams(scheme, path string) (string, string) {
	switch scheme {
	case "", "ftp", "hdl", "prospero", "http", "imap", "https", "shttp", "rtsp", "rtsps", "rtspu", "sip", "sips", "mms", "sftp", "tel":
		last := strings.LastIndexByte(path, '/') + 1
		if i := strings.IndexByte(path[last:], ';'); i >= 0 {
			path, params := path[:last+i], path[last+i:]
			if params == ";" {
				params = ""
			}
			return path, params
		}
	}
	return path, ""
}

// scrapyPath decodes a path but for what would become a separator, and escapes it again.
// A stray "%" stays.
func scrapyPath(path string) string {
	var b []byte
	for i := 0; i < len(path); i++ {
		if !isEscape(path, i) {
			b = escapeOutside(b, path[i:i+1], w3libPathSafe)
			continue
		}
		c := unhex[path[i+1]]<<4 | unhex[path[i+2]]
		if c != '%' && c != '/' && c != ';' && c != '?' && w3libPathSafe[c] {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
		i += 2
	}
	return string(b)
}

// scrapyQuery decodes each parameter as a form does, sorts by name and value, and encodes
// all but unreserved characters. "a" becomes "a=", empty parameters go.
func scrapyQuery(query, scheme string) string {
	safe := *w3libSafe
	safe['\''] = !isSpecial(scheme)
	query = string(escapeOutside(nil, query, &safe))
	type param struct{ name, value string }
	var params []param
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			name, value, _ := strings.Cut(pair, "=")
			params = append(params, param{unescape(strings.ReplaceAll(name, "+", " ")), unescape(strings.ReplaceAll(value, "+", " "))})
		}
	}
	slices.SortFunc(params, func(a, b param) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	var b []byte
	for i, p := range params {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(appendForm(b, p.name), '=')
		b = appendForm(b, p.value)
	}
	return string(b)
}

// appendForm appends s as an HTML form encodes it.
func appendForm(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			b = append(b, '+')
		case isUnreserved[c]:
			b = append(b, c)
		default:
			b = appendEscape(b, c)
		}
	}
	return b
}
