package canon

import "encoding/binary"

// The fast path. About nine in ten real URLs are canonical already, so the first thing
// done is a check: one pass over the bytes that finds the parts and tells which of them
// have to be rewritten. Nothing is copied before that is known. Whatever is unusual
// before the path (userinfo, upper case, addresses, xn-- labels, other schemes), and
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
	inHost    = 1 << iota // a-z 0-9 . _ ("-" can make an xn-- label)
	inPath                // stays in a path; dots and slashes are also looked at by pairs
	inName                // stays in a parameter name
	inValue               // stays in a parameter value
	isNewline             // tab, LF, CR: removed before anything else
)

var classes = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' {
			t[i] |= inHost
		}
		if pathRaw[c] {
			t[i] |= inPath
		}
		if queryRaw[c] && c != '&' {
			t[i] |= inValue
		}
		if queryRaw[c] && c != '&' && c != '=' {
			t[i] |= inName
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
	for i < n {
		for i < n && classes[s[i]]&inHost != 0 {
			i++
		}
		if i == n || s[i] != '-' || i >= start+3 && s[i-1] == '-' && s[i-2] == 'n' && s[i-3] == 'x' {
			break
		}
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

// plainEnd tells whether the last label can't make an address of the host: it is not
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

// isPlainIPv4 tells whether host is four decimal numbers up to 255 without zeros before.
func isPlainIPv4(host []byte) bool {
	numbers, value, width := 1, 0, 0
	for _, c := range host {
		switch {
		case c == '.' && width > 0:
			numbers, value, width = numbers+1, 0, 0
		case c < '0' || c > '9' || width > 0 && value == 0:
			return false
		default:
			value, width = value*10+int(c-'0'), width+1
			if value > 255 {
				return false
			}
		}
	}
	return numbers == 4 && width > 0
}

// scanPort gives the end of a port that is canonical for the scheme, or -1.
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

// scanPath runs to the "?", "#" or end of a path. ok tells whether it is canonical;
// end is -1 if it has bytes only the slow path knows.
//
// Eight bytes at a time: all in the class, and no slash followed by a slash or a dot.
// A byte x of w is zero in w^(x in every byte), and (v-ones)&^v&highs marks zero bytes;
// it can mark too many, never too few, and what is marked is looked at one by one.
func scanPath(s []byte, i int) (end int, ok bool) {
	n := len(s)
	if i == n || s[i] != '/' {
		return i, false // empty
	}
	for {
		for i+9 <= n {
			b := s[i : i+9 : i+9]
			if classes[b[0]]&classes[b[1]]&classes[b[2]]&classes[b[3]]&classes[b[4]]&classes[b[5]]&classes[b[6]]&classes[b[7]]&inPath == 0 {
				break
			}
			w, next := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[1:])
			slash := w ^ ones*'/'
			slash = (slash - ones) &^ slash & highs
			dot := next ^ ones*'.' // a dot is 0x2e
			dot &^= ones           // and a slash 0x2f: both are zero now
			dot = (dot - ones) &^ dot & highs
			if slash&dot != 0 {
				break
			}
			i += 8
		}
		if i, end, ok = scanPathBytes(s, i, min(i+8, n)); end != more {
			return end, ok
		}
	}
}

// more, as an end, says that the part goes on.
const more = -2

// scanPathBytes looks at the bytes from i to stop one by one. It gives the next offset
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

// dirtySlash tells whether an empty or a dot segment follows the slash at i.
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

// isCanonicalEscape tells whether an escape begins at i that stays as it is.
func isCanonicalEscape(s []byte, i int) bool {
	if i+2 >= len(s) {
		return false
	}
	hi, lo := s[i+1], s[i+2]
	return hi < 'a' && lo < 'a' && unhex[hi] != notHex && unhex[lo] != notHex && !isUnreserved[unhex[hi]<<4|unhex[lo]]
}
