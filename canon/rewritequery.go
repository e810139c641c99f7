package canon

import (
	"bytes"
	"cmp"
	"slices"
)

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
		if text, query = cutPair(query); len(text) == 0 {
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

func cutPair(query []byte) (text, rest []byte) {
	if i := bytes.IndexByte(query, '&'); i >= 0 {
		return query[:i], query[i+1:]
	}
	return query, nil
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
