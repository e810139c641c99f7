package canon

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// The fast path. About nine in ten real URLs are canonical already, so the first thing
// done is a check: one pass over the bytes that finds the parts and reports which of them
// have to be rewritten. Nothing is copied before that is known. Whatever is unusual
// before the path (userinfo, upper case, other addresses than canonical IPv4, other schemes), and
// newlines and backslashes, are left to the slow path, which is complete.

// layout is where the parts of a URL are, by offset. The authority is canonical.
type layout struct {
	host    int  // start of the host
	hostEnd int  // end of the host, start of the port
	path    int  // start of the path, which may be empty
	query   int  // its "?", or end
	end     int  // end of the query: the "#", or the length
	pathOK  bool // the path is canonical under the default rules
	queryOK bool // so is the query, "?" included
}

// Byte classes of the scan. A byte outside a class is looked at one by one.
const (
	inHost     = 1 << iota // a-z 0-9 . _ -
	inPath                 // stays in a path; dots and slashes are also looked at by pairs
	inName                 // stays in a parameter name
	inValue                // stays in a parameter value
	inFragment             // stays in a fragment
	isNewline              // tab, LF, CR: removed before anything else
	isHash                 // ends a query
	isPlain                // unreserved: stands for itself in a sort key
)

// What may stand in each part, besides escapes: what RFC 3986 allows there, less what the URL Standard escapes. So no
// parser of either kind changes our forms.
var (
	pathRaw     = whatwg.SetOf("%" + whatwg.Unreserved + whatwg.SubDelims + ":@/")  // pchar and "/" (3.3)
	queryRaw    = whatwg.SetOf("%" + whatwg.Unreserved + "!$&()*+,;=" + ":@/?")     // pchar, "/" and "?" (3.4) without "'"
	fragmentRaw = whatwg.SetOf("%" + whatwg.Unreserved + whatwg.SubDelims + ":@/?") // pchar, "/" and "?" (3.5)
	userinfoRaw = whatwg.SetOf("%" + whatwg.Unreserved + "!$&'()*+,")               // without ";" and "="; ":" is a separator
)

var classes = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-' {
			t[i] |= inHost
		}
		if pathRaw[c] && c != '%' {
			t[i] |= inPath
		}
		if queryRaw[c] && c != '&' && c != '%' {
			t[i] |= inValue
		}
		if queryRaw[c] && c != '&' && c != '=' && c != '%' {
			t[i] |= inName
		}
		if fragmentRaw[c] && c != '%' {
			t[i] |= inFragment
		}
		if c == '#' {
			t[i] |= isHash
		}
		if whatwg.IsUnreserved[c] {
			t[i] |= isPlain
		}
		if c == '\t' || c == '\n' || c == '\r' {
			t[i] |= isNewline
		}
	}
	return t
}()

// scan finds the layout; !ok means that the slow path has to see to this URL.
func scan(s []byte) (l layout, ok bool) {
	n := len(s)
	if n < len("http://x") || s[n-1] <= ' ' {
		return l, false
	}
	// "http" as a little-endian number; the two schemes in one comparison each.
	const http, colonSlashSlash = 0x70747468, 0x2f2f3a
	if binary.LittleEndian.Uint32(s) != http {
		return l, false
	}
	switch w := binary.LittleEndian.Uint32(s[4:]); {
	case w&0xffffff == colonSlashSlash:
		l.host = len("http://")
	case w == colonSlashSlash<<8|'s':
		l.host = len("https://")
	default:
		return l, false
	}
	if l.path, l.hostEnd = scanAuthority(s, l.host); l.path < 0 {
		return l, false
	}
	l.query, l.pathOK = scanPath(s, l.path)
	if l.query < 0 {
		return l, false
	}
	l.end, l.queryOK = l.query, true
	if l.query < n && s[l.query] == '?' {
		l.end, l.queryOK = scanQuery(s, l.query+1)
	}
	return l, l.end >= 0
}

// scanAuthority checks host and port from i on. path is -1 if they are not plain.
func scanAuthority(s []byte, i int) (path, hostEnd int) {
	start, n := i, len(s)
	for i+8 <= n && allOf(s[i:i+8:i+8], inHost) {
		i += 8
	}
	for i < n && classes[s[i]]&inHost != 0 {
		i++
	}
	hostEnd = i
	if i == start || !plainEnd(s[start:i]) {
		return -1, 0
	}
	if i < n && s[i] == ':' {
		if i = scanPort(s, i+1, start == len("https://")); i < 0 {
			return -1, 0
		}
	}
	if i < n && s[i] != '/' && s[i] != '?' && s[i] != '#' {
		return -1, 0
	}
	return i, hostEnd
}

// plainEnd reports whether the last label can't make an address of the host: it is not
// empty and begins with no digit. Plain addresses in canonical form pass too.
func plainEnd(host []byte) bool {
	last := host[len(host)-1]
	if 'g' <= last && last <= 'w' { // ".com", ".org", ".net": no number ends so
		return true
	}
	i := len(host)
	for i > 0 && host[i-1] != '.' {
		i--
	}
	if i == len(host) {
		return false
	}
	if first := host[i]; first < '0' || first > '9' {
		return true
	}
	return isPlainIPv4(host)
}

// isPlainIPv4 reports whether host is four decimal numbers up to 255 without zeros before.
func isPlainIPv4(host []byte) bool {
	addr, err := netip.ParseAddr(zerocopy.String(host))
	return err == nil && addr.Is4()
}

// scanPort returns the end of a port that is canonical for the scheme, or -1.
func scanPort(s []byte, i int, isHTTPS bool) int {
	start, port := i, 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' && i-start < 6 {
		port = port*10 + int(s[i]-'0')
		i++
	}
	if i == start || i-start > 1 && s[start] == '0' || port > 65535 {
		return -1
	}
	if isHTTPS && port == 443 || !isHTTPS && port == 80 {
		return -1
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// scanPath runs to the "?", "#" or end of a path. ok reports whether it is canonical;
// end is -1 if it has bytes only the slow path knows.
//
// It goes eight bytes at a time. In slashThenDot w^(x in every byte) has a
// zero for each byte x, and (v-ones)&^v&highs marks zero bytes; it can mark too many,
// never too few, and where there is a mark the bytes are looked at one by one.
func scanPath(s []byte, i int) (end int, ok bool) {
	n := len(s)
	if i == n || s[i] != '/' {
		return i, false // empty
	}
	start := i
	for {
		for i+9 <= n {
			b := s[i : i+9 : i+9]
			if !allOf(b, inPath) || slashThenDot(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[1:])) {
				break
			}
			i += 8
		}
		if tail := n - 9; i > tail && tail >= start && plainTail(s[tail:]) {
			return n, true // the last bytes, some of them once more
		}
		if i, end, ok = scanPathBytes(s, i, min(i+8, n)); end != more {
			return end, ok
		}
	}
}

// plainTail looks at nine bytes as scanPath's loop does, and at the class of the last.
func plainTail(b []byte) bool {
	return allOf(b, inPath) && classes[b[8]]&inPath != 0 &&
		!slashThenDot(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[1:]))
}

// slashThenDot reports whether one of the eight bytes of w is a slash, and that of next in
// the same place a slash or a dot.
func slashThenDot(w, next uint64) bool {
	slash := w ^ ones*'/'
	next = (next ^ ones*'.') &^ ones // zero for a dot, 0x2e, and a slash, 0x2f
	return (slash-ones)&^slash&(next-ones)&^next&highs != 0
}

// allOf reports whether the first eight bytes of b are in the class.
func allOf(b []byte, class uint8) bool {
	_ = b[7]
	return classes[b[0]]&classes[b[1]]&classes[b[2]]&classes[b[3]]&
		classes[b[4]]&classes[b[5]]&classes[b[6]]&classes[b[7]]&class != 0
}

// noneOf reports whether none of the first eight bytes of b is in the class.
func noneOf(b []byte, class uint8) bool {
	_ = b[7]
	return (classes[b[0]]|classes[b[1]]|classes[b[2]]|classes[b[3]]|
		classes[b[4]]|classes[b[5]]|classes[b[6]]|classes[b[7]])&class == 0
}

// more, as an end, means that the part continues.
const more = -2

// scanPathBytes looks at the bytes from i to stop one by one. It returns the next offset
// and end = more, or else the end as scanPath does.
func scanPathBytes(s []byte, i, stop int) (next, end int, ok bool) {
	for i < stop {
		switch c := s[i]; {
		case c == '/':
			if dirtySlash(s, i) {
				return i, scanDirtyPath(s, i), false
			}
			i++
		case classes[c]&inPath != 0:
			i++
		case c == '?' || c == '#':
			return i, i, true
		case c == '%' && isCanonicalEscape(s, i):
			i += 3
		default:
			return i, scanDirtyPath(s, i), false
		}
	}
	if i >= len(s) {
		return i, len(s), true
	}
	return i, more, true
}

// dirtySlash reports whether an empty or a dot segment follows the slash at i.
func dirtySlash(s []byte, i int) bool {
	if i++; i >= len(s) {
		return false
	}
	if s[i] == '.' {
		if i++; i < len(s) && s[i] == '.' {
			i++
		}
		return i == len(s) || s[i] == '/' || s[i] == '?' || s[i] == '#'
	}
	return s[i] == '/'
}

func scanDirtyPath(s []byte, i int) (end int) {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '?' || c == '#':
			return i
		case c == '\\' || classes[c]&isNewline != 0:
			return -1
		}
	}
	return i
}

// isCanonicalEscape reports whether an escape begins at i that stays as it is.
func isCanonicalEscape(s []byte, i int) bool {
	if i+2 >= len(s) {
		return false
	}
	hi, lo := s[i+1], s[i+2]
	return hi < 'a' && lo < 'a' && whatwg.Unhex[hi] != whatwg.NotHex && whatwg.Unhex[lo] != whatwg.NotHex && !whatwg.IsUnreserved[whatwg.Unhex[hi]<<4|whatwg.Unhex[lo]]
}

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
		c, width = whatwg.Unhex[s[1]]<<4|whatwg.Unhex[s[2]], 3
	case c == '+':
		c = ' '
	}
	if whatwg.IsUnreserved[c] {
		return 0x100 + int(c), width
	}
	return int(c), width
}
