package canon

import "bytes"

// scanQuery runs from the first byte after the "?" to the "#" or the end. ok reports
// whether the query is canonical: every pair complete, all in order. end is -1 if it
// has bytes only the slow path knows.
func scanQuery(s []byte, i int) (end int, ok bool) {
	n := len(s)
	var before pair
	for first := true; ; first = false {
		p := pair{start: uint32(i)}
		if i = skipClass(s, i, inName); i == n || s[i] != '=' {
			return scanDirtyQuery(s, i), false
		}
		p.nameEnd = uint32(i)
		i = skipClass(s, i+1, inValue)
		p.end = uint32(i)
		if !first && comparePairs(s, before, p) > 0 {
			return scanDirtyQuery(s, i), false
		}
		if i == n || s[i] == '#' {
			return i, true
		}
		if s[i] != '&' {
			return scanDirtyQuery(s, i), false
		}
		before = p
		i++
	}
}

// skipClass runs over bytes of the class and canonical escapes.
func skipClass(s []byte, i int, class uint8) int {
	for {
		for i < len(s) && classes[s[i]]&class != 0 {
			i++
		}
		if i == len(s) || s[i] != '%' || !isCanonicalEscape(s, i) {
			return i
		}
		i += 3
	}
}

func scanDirtyQuery(s []byte, i int) (end int) {
	for {
		for i+8 <= len(s) && noneOf(s[i:i+8:i+8], isNewline|isHash) {
			i += 8
		}
		for stop := min(i+8, len(s)); i < stop; i++ {
			switch {
			case s[i] == '#':
				return i
			case classes[s[i]]&isNewline != 0:
				return -1
			}
		}
		if i == len(s) {
			return i
		}
	}
}

// pair is a query parameter by offset. A bare one has nameEnd == end. Sorting moves
// pairs about, so they are kept small; lengths are bounded accordingly.
type pair struct{ start, nameEnd, end uint32 }

func (p pair) name(s []byte) []byte { return s[p.start:p.nameEnd] }
func (p pair) text(s []byte) []byte { return s[p.start:p.end] }

func (p pair) value(s []byte) []byte {
	if p.nameEnd == p.end {
		return nil
	}
	return s[p.nameEnd+1 : p.end]
}

// comparePairs orders two parameters, with their escapes normalised, as RFC 5849
// 3.4.1.3.2 does: by name, then value; then, where it leaves them equal, by text.
func comparePairs(s []byte, a, b pair) int {
	// Most names differ in their first letter, and most letters are plain.
	if ca, cb := s[a.start], s[b.start]; ca != cb && classes[ca]&classes[cb]&isPlain != 0 {
		return int(ca) - int(cb)
	}
	if c := compareKeys(a.name(s), b.name(s)); c != 0 {
		return c
	}
	if c := compareKeys(a.value(s), b.value(s)); c != 0 {
		return c
	}
	return bytes.Compare(a.text(s), b.text(s))
}

// compareKeys compares two names or values as if decoded as a form and escaped again,
// without doing so. In that form an unreserved byte stands for itself and any other is
// %XX: escaped ones come first, by value, since "%" is less than all that is unreserved.
func compareKeys(a, b []byte) int {
	for {
		k := 0
		for k < len(a) && k < len(b) && a[k] == b[k] {
			k++
		}
		if k == len(a) || k == len(b) {
			return len(a) - len(b)
		}
		// A difference inside an escape is one of two upper-case digits.
		if k >= 1 && a[k-1] == '%' || k >= 2 && a[k-2] == '%' {
			return int(a[k]) - int(b[k])
		}
		ra, na := keyRank(a[k:])
		rb, nb := keyRank(b[k:])
		if ra != rb {
			return ra - rb
		}
		a, b = a[k+na:], b[k+nb:] // "@" and "%40", "+" and "%20"
	}
}

// keyRank ranks the first symbol of s, and reports how many bytes it takes.
func keyRank(s []byte) (rank, width int) {
	c, width := s[0], 1
	switch {
	case c == '%':
		c, width = unhex[s[1]]<<4|unhex[s[2]], 3
	case c == '+':
		c = ' '
	}
	if isUnreserved[c] {
		return 0x100 + int(c), width
	}
	return int(c), width
}
