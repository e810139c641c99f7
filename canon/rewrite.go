package canon

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/firstseen/firstseen/internal/whatwg"
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
			dst = whatwg.AppendEscape(dst, c)
		case !whatwg.IsEscape(s, i):
			dst = append(dst, "%25"...)
		default:
			c, width = whatwg.Escaped(s, i), 3
			if whatwg.IsUnreserved[c] {
				dst = append(dst, c)
			} else {
				dst = whatwg.AppendEscape(dst, c)
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
		dst = dst[:start+len(whatwg.RemoveDots(dst[start:]))]
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
			path[i] = whatwg.Lower(path[i])
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

// manyPairs is how many parameters are handled without allocating, and how many of them
// are sorted by insertion.
const manyPairs = 32

// appendQuery appends "?" and the parameters of a query, or nothing if none is left.
// The canonical path stands in dst[path:], the host before it.
func (q *qiita) appendQuery(dst, query []byte, path int) []byte {
	if !q.filters && q.on.has(rSortQuery) && q.on.has(rSortValues) {
		if out, ok := q.appendSimple(dst, query); ok {
			return out
		}
	}
	before := len(dst)
	var scopes []*scope
	if q.params != nil && q.on.has(rScopedParams) {
		scopes = q.params.scopesFor(bareHost(dst[:path]), dst[path:])
	}
	dst = append(dst, '?')
	base := len(dst)
	var room [manyPairs]pair
	pairs, sorted := room[:0], true
	for len(query) > 0 {
		var text []byte
		if text, query, _ = bytes.Cut(query, []byte{'&'}); len(text) == 0 {
			continue
		}
		p := pair{start: uint32(len(dst) - base)}
		dst = q.appendPair(dst, text, base, &p)
		if q.filters && q.drops(dst[base:], p, scopes) {
			dst = dst[:base+int(p.start)]
			continue
		}
		if sorted && len(pairs) > 0 {
			sorted = q.compare(dst[base:], pairs[len(pairs)-1], p) <= 0
		}
		pairs = append(pairs, p)
		dst = append(dst, '&')
	}
	if len(pairs) == 0 {
		return dst[:before]
	}
	dst = dst[:len(dst)-1]
	if !sorted && q.on.has(rSortQuery) {
		dst = q.appendSorted(dst, base, pairs)
	}
	return dst
}

// appendSimple is appendQuery for parameters that are only in the wrong order, bare or
// empty, as nine in ten are: they are sorted where they stand, and copied once.
func (q *qiita) appendSimple(dst, query []byte) (out []byte, ok bool) {
	var room [manyPairs]pair
	n := 0
	for i := 0; i < len(query); i++ {
		p := pair{start: uint32(i)}
		i = skipClass(query, i, inName)
		p.nameEnd = uint32(i)
		if i < len(query) && query[i] == '=' {
			i = skipClass(query, i+1, inValue)
		}
		p.end = uint32(i)
		if i < len(query) && query[i] != '&' || n == manyPairs {
			return dst, false
		}
		if p.start == p.end {
			continue
		}
		k := n
		for k > 0 && comparePairs(query, room[k-1], p) > 0 {
			room[k] = room[k-1]
			k--
		}
		room[k] = p
		n++
	}
	for i, p := range room[:n] {
		dst = append(dst, "?&"[min(i, 1)])
		dst = append(dst, p.text(query)...)
		if p.nameEnd == p.end && q.on.has(rCompleteParams) {
			dst = append(dst, '=')
		}
	}
	return dst, true
}

// appendPair appends one parameter, its escapes normalised, and notes where it stands.
func (q *qiita) appendPair(dst, text []byte, base int, p *pair) []byte {
	equals := bytes.IndexByte(text, '=')
	if equals < 0 {
		dst = appendNormal(dst, text, inValue)
		p.nameEnd = uint32(len(dst) - base)
		if q.on.has(rCompleteParams) {
			dst = append(dst, '=')
		}
	} else {
		dst = appendNormal(dst, text[:equals], inValue)
		p.nameEnd = uint32(len(dst) - base)
		dst = appendNormal(dst, text[equals:], inValue)
	}
	p.end = uint32(len(dst) - base)
	return dst
}

// drops reports whether an optional rule drops the parameter.
func (q *qiita) drops(s []byte, p pair, scopes []*scope) bool {
	name, value := p.name(s), p.value(s)
	switch {
	case q.on.has(rStripTrackingParams) && q.lists.tracking.matches(name, value):
	case q.on.has(rStripSessionIDs) && q.lists.sessions.matches(name, value):
	case q.on.has(rDropEmptyParams) && p.nameEnd < p.end && len(value) == 0:
	case dropsParam(scopes, name):
	default:
		return false
	}
	return true
}

// compare orders two parameters. Without sort-values, those of one name keep their order.
func (q *qiita) compare(s []byte, a, b pair) int {
	if q.on.has(rSortValues) {
		return comparePairs(s, a, b)
	}
	return cmp.Or(compareKeys(a.name(s), b.name(s)), cmp.Compare(a.start, b.start))
}

// appendSorted sorts the parameters in dst[base:]. It appends them in order to dst, then moves
// them to base, so it needs no other buffer.
func (q *qiita) appendSorted(dst []byte, base int, pairs []pair) []byte {
	s := dst[base:]
	slices.SortFunc(pairs, func(a, b pair) int { return q.compare(s, a, b) })
	end := len(dst)
	for _, p := range pairs {
		dst = append(dst, p.text(dst[base:])...)
		dst = append(dst, '&')
	}
	n := copy(dst[base:], dst[end:len(dst)-1])
	return dst[:base+n]
}

// bareHost is the host, without port, of a URL of the fast path that ends before its path.
func bareHost(authority []byte) []byte {
	host := authority[bytes.LastIndexByte(authority, '/')+1:]
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return host
}
