package canon

import (
	"bytes"

	"github.com/firstseen/firstseen/internal/dotsegments"
)

// The second half of the fast path: what scan found wanting is written again, straight
// into the caller's buffer. The order of the rules is that of the table.

// appendRewritten appends the canonical form of a URL that scan has laid out.
func (q *qiita) appendRewritten(dst, s []byte, l *layout) []byte {
	dst = q.appendAuthority(dst, s, l)
	path := len(dst)
	dst = q.appendPath(dst, s[l.path:l.query], l.pathOK)
	if l.query < l.end && !q.on.has(rDropQuery) {
		if l.queryOK && !q.filters {
			dst = append(dst, s[l.query:l.end]...)
		} else {
			dst = q.appendQuery(dst, s[l.query+1:l.end], path)
		}
	}
	if l.end < len(s) && q.keepsFragment(s[l.end:]) {
		dst = append(dst, '#')
		dst = appendNormal(dst, s[l.end+1:], inFragment)
	}
	return dst
}

// mayKeepFragment reports whether some fragments stay.
func (q *qiita) mayKeepFragment() bool { return !q.on.has(rDropFragment) || q.on.has(rKeepHashbang) }

// keepsFragment takes the fragment with its "#". A kept "#" alone stays.
func (q *qiita) keepsFragment(fragment []byte) bool {
	return !q.on.has(rDropFragment) || q.on.has(rKeepHashbang) && len(fragment) > 1 && fragment[1] == '!'
}

func (q *qiita) appendAuthority(dst, s []byte, l *layout) []byte {
	scheme, host, port := s[:l.host], s[l.host:l.hostEnd], s[l.hostEnd:l.path]
	if q.on.has(rStripWWW) {
		host = stripWWW(host)
	}
	if q.on.has(rFoldHTTPS) && len(scheme) == len("http://") && len(port) == 0 {
		dst = append(dst, "https://"...)
	} else {
		dst = append(dst, scheme...)
	}
	dst = append(dst, host...)
	return append(dst, port...)
}

// stripWWW drops leading "www." labels while at least two labels follow.
func stripWWW(host []byte) []byte {
	for {
		rest, ok := bytes.CutPrefix(host, []byte("www."))
		if dot := bytes.IndexByte(rest, '.'); !ok || dot <= 0 || dot == len(rest)-1 {
			return host
		}
		host = rest
	}
}

// appendNormal appends a part with the four percent rules done; bytes of the class
// stay as they are.
func appendNormal(dst, s []byte, class uint8) []byte {
	for i := 0; i < len(s); {
		run := i
		for i+8 <= len(s) && allOf(s[i:i+8:i+8], class) {
			i += 8
		}
		for i < len(s) && classes[s[i]]&class != 0 {
			i++
		}
		dst = append(dst, s[run:i]...)
		if i == len(s) {
			break
		}
		c, width := s[i], 1
		switch {
		case c != '%':
			dst = appendEscape(dst, c)
		case !isEscape(s, i):
			dst = append(dst, "%25"...)
		default:
			c, width = unhex[s[i+1]]<<4|unhex[s[i+2]], 3
			if isUnreserved[c] {
				dst = append(dst, c)
			} else {
				dst = appendEscape(dst, c)
			}
		}
		i += width
	}
	return dst
}

// appendPath appends a path, which begins with a slash or is empty.
func (q *qiita) appendPath(dst, path []byte, ok bool) []byte {
	if len(path) == 0 {
		return append(dst, '/')
	}
	start := len(dst)
	if ok {
		dst = append(dst, path...)
	} else {
		dst = appendNormal(dst, path, inPath)
	}
	if q.on.has(rLowercasePath) {
		lowerPath(dst[start:])
	}
	if !ok {
		dst = dst[:start+len(dotsegments.Remove(dst[start:]))]
		if q.on.has(rCollapseSlashes) {
			dst = collapse(dst, start)
		}
	}
	if q.on.has(rStripTrailingSlash) {
		dst = trimSlashes(dst, start)
	}
	if q.on.has(rStripIndex) {
		dst = q.trimIndex(dst, start)
	}
	return dst
}

func lowerPath(path []byte) {
	for i := 0; i < len(path); i++ {
		if path[i] == '%' {
			i += 2
		} else {
			path[i] = lower(path[i])
		}
	}
}

// collapse makes one slash of several, in place.
func collapse(dst []byte, start int) []byte {
	i := bytes.Index(dst[start:], []byte("//"))
	if i < 0 {
		return dst
	}
	to := start + i + 1
	for from := to; from < len(dst); from++ {
		if dst[from] != '/' || dst[from-1] != '/' {
			dst[to] = dst[from]
			to++
		}
	}
	return dst[:to]
}

func trimSlashes(dst []byte, start int) []byte {
	for len(dst) > start+1 && dst[len(dst)-1] == '/' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// trimIndex drops a default document, and those that trimming slashes uncovers.
func (q *qiita) trimIndex(dst []byte, start int) []byte {
	for {
		cut := start + bytes.LastIndexByte(dst[start:], '/') + 1
		if len(dst)-cut > longestIndex || !q.lists.isIndex(string(dst[cut:])) {
			return dst
		}
		dst = dst[:cut]
		if !q.on.has(rStripTrailingSlash) {
			return dst
		}
		dst = trimSlashes(dst, start)
	}
}
