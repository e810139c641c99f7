package canon

import "encoding/binary"

// The fast path. About nine in ten real URLs are canonical already, so the first thing
// done is a check: one pass over the bytes that finds the parts and reports which of them
// have to be rewritten. Nothing is copied before that is known. Whatever is unusual
// before the path (userinfo, upper case, addresses, other schemes), and
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

var classes = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-' {
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
		if fragmentRaw[c] {
			t[i] |= inFragment
		}
		if c == '#' {
			t[i] |= isHash
		}
		if isUnreserved[c] {
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
